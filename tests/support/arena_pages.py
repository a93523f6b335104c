"""Strict parser and crawler of the Arena's HTML pages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from arena_in_process import Floor

from openoutcry.arena.timestamps import parse_timestamp

VOID = {"br", "circle", "col", "hr", "img", "input", "line", "link", "meta", "path", "rect"}
NOTHING = ("/", "/markets", "/markets?status=closed", "/snapshots", "/registry", "/first-agent", "/docs")
"""Pages that exist from the start."""
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@dataclass
class Page(HTMLParser):
    """A parsed page with its faults in structure and accessibility."""

    text: str
    faults: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    after: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]
        if not self.text.startswith("<!doctype html>\n<html lang="):
            self.faults.append("a doctype and a language are required")
        if self.headings.count(1) != 1:
            self.faults.append(f"one h1 is required; received {self.headings.count(1)}")
        self.faults += [
            f"h{b} follows h{a}" for a, b in zip(self.headings, self.headings[1:], strict=False) if b > a + 1
        ]
        self.faults += [f"id {each} is duplicated" for each in {*self.ids} if self.ids.count(each) > 1]
        for tag, reply in self.tags:
            self._check_names(tag, reply)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        reply = {name: value or "" for name, value in attrs}
        if len(reply) < len(attrs):
            self.faults.append(f"<{tag}> has an attribute twice")
        self.tags.append((tag, reply))
        if self.after == "table" and tag != "caption":
            self.faults.append(f"a table must start with a caption; received <{tag}>")
        self.after = tag
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if "id" in reply:
            self.ids.append(reply["id"])
        if tag == "a":
            self.links.append(reply["href"])
        if tag in ("link", "script", "img"):
            self.assets.append(reply.get("href") or reply.get("src") or f"no address of <{tag}>")
        if tag == "style" or "style" in reply or any(name.startswith("on") for name in reply):
            self.faults.append(f"<{tag}> has an inline style or script")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> does not match the open tag")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.after = ""
            self.words.append(data.strip())

    def _check_names(self, tag: str, expected: dict[str, str]) -> None:
        if tag == "th" and expected.get("scope") not in ("row", "col"):
            self.faults.append("a th needs a scope")
        if tag == "label" and expected.get("for") not in self.ids:
            self.faults.append(f"a label refers to the unknown id {expected.get('for')}")
        labelled = {each.get("for") for name, each in self.tags if name == "label"}
        if tag in ("input", "select") and expected.get("type") != "hidden" and expected.get("id") not in labelled:
            self.faults.append(f"<{tag}> {expected.get('name')} has no label")
        if tag == "time" and re.search("[T]", expected["datetime"]):
            parse_timestamp("datetime", expected["datetime"])
        if tag == "button" and "form" in expected and expected["form"] not in self.ids:
            self.faults.append("a button refers to an unknown form")
        if "aria-labelledby" in expected and expected["aria-labelledby"] not in self.ids:
            self.faults.append("aria-labelledby refers to an unknown id")

    @property
    def said(self) -> str:
        """The text of the page with single spaces."""
        return re.sub(r"\s+", " ", " ".join(self.words))


def page(ground: Floor, path: str, status: int = 200, **headers: str) -> Page:
    """Fetch a page and check that it has no faults."""
    answer = ground.client.get(path, headers=HTML | headers)
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "text/html; charset=utf-8"), answer.text
    found = Page(answer.text)
    assert found.faults == [], path
    return found


def crawl(ground: Floor, *starts: str) -> dict[str, Any]:
    """Fetch everything that the pages link to, check it, and return the responses by path."""
    found: dict[str, Any] = {}
    parsed: dict[str, Page] = {}
    anchors = []
    pending = [*starts]
    while pending:
        path = pending.pop()
        if path in found:
            continue
        answer = found[path] = ground.client.get(path, headers=HTML)
        assert answer.status_code == 200, path
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        parsed[path] = Page(answer.text)
        assert parsed[path].faults == [], path
        for link in [*parsed[path].links, *parsed[path].assets]:
            target = urlsplit(urljoin(path, link))
            if target.netloc:
                continue
            full = target.path + (f"?{target.query}" if target.query else "")
            pending.append(full)
            if target.fragment:
                anchors.append((full, unquote(target.fragment)))
    assert [each for each in anchors if each[1] not in parsed[each[0]].ids] == []
    return found
