"""The uses between Rust files of a crate, parsed from `use` trees, paths and re-exports.

A name is resolved to the file that defines it: re-exports of a `mod.rs` or `lib.rs` are followed. Modules under
`#[cfg(test)]`, comments and strings are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
USE = re.compile(r"^[ \t]*(?P<public>pub(?:\([\w ]+\))? )?use (?P<tree>[^;]+);", re.MULTILINE)
PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
CALL = re.compile(r"(?<![\w:])(?<!(?<!\.)\.)([a-z]\w*)::(\w+)")
Module = tuple[str, ...]
Edges = dict[Module, set[Module]]


def sources(src: Path) -> dict[Module, str]:
    """Return the sources of a crate by module path, without tests, comments and strings."""
    found = {}
    for path in sorted(src.rglob("*.rs")):
        parts = path.relative_to(src).with_suffix("").parts
        module = parts[:-1] if parts[-1] in {"mod", "lib"} else parts
        found[module] = TEXT.sub('""', TESTS.sub("", path.read_text(encoding="utf-8")))
    return found


def names(tree: str, prefix: Module = ()) -> Iterator[tuple[str, Module]]:
    """Yield each name that a `use` tree binds, with its path."""
    head, brace, rest = tree.strip().partition("{")
    if brace:
        outer = (*prefix, *filter(None, (part.strip() for part in head.split("::"))))
        depth, part = 0, ""
        for letter in rest.rpartition("}")[0] + ",":
            depth += (letter == "{") - (letter == "}")
            if depth or letter != ",":
                part += letter
            elif part.strip():
                yield from names(part, outer)
                part = ""
        return
    path, _, alias = (part.strip() for part in tree.partition(" as "))
    full = (*prefix, *(part.strip() for part in path.split("::")))
    full = full[:-1] if full[-1] == "self" else full
    yield alias or full[-1], full


def absolute(path: Module, module: Module, modules: Mapping[Module, str]) -> Module | None:
    """Resolve a path in a module to a path from the root of its crate; `None` for another crate."""
    if path[0] in {"crate", "self"}:
        return (() if path[0] == "crate" else module) + path[1:]
    if path[0] == "super":
        ups = next((place for place, part in enumerate(path) if part != "super"), len(path))
        return module[: len(module) - ups] + path[ups:]
    return module + path if (*module, path[0]) in modules else None


def bound(module: Module, modules: Mapping[Module, str]) -> dict[str, Module]:
    """Return the names of this crate that a module binds with `use`, and their paths from the root."""
    found = {}
    for match in USE.finditer(modules[module]):
        for name, path in names(match["tree"]):
            target = absolute(path, module, modules)
            if target is not None:
                found[name] = target
    return found


def defining(path: Module, modules: Mapping[Module, str], uses: Mapping[Module, Mapping[str, Module]]) -> Module:
    """Return the module that defines the item at a path from the root."""
    for _ in range(len(modules)):
        size = next(n for n in range(len(path), -1, -1) if path[:n] in modules)
        module, rest = path[:size], path[size:]
        if not rest or uses[module].get(rest[0], path[: size + 1]) == path[: size + 1]:
            return module
        path = (*uses[module][rest[0]], *rest[1:])
    raise ValueError(f"re-exports without a cycle are required; received one at {'::'.join(path)}")


def edges(modules: Mapping[Module, str]) -> Edges:
    """Return the modules that each module of a crate uses, without the files that only declare and re-export."""
    uses = {module: bound(module, modules) for module in modules}
    found: Edges = {}
    for module, text in modules.items():
        body = USE.sub(lambda match: "" if match["public"] else match[0], text)
        bare = USE.sub("", body)
        paths = {path for match in USE.finditer(body) for _, path in names(match["tree"])}
        paths |= {tuple(match[0].split("::")) for match in PATH.finditer(bare)}
        targets = [target for path in paths if (target := absolute(path, module, modules)) is not None]
        for name, member in CALL.findall(bare):
            if name in uses[module] or (*module, name) in modules:
                targets.append((*uses[module].get(name, (*module, name)), member))
        found[module] = {defining(target, modules, uses) for target in targets} - {module}
    return found


def cycles(graph: Mapping[object, set[object]]) -> list[list[object]]:
    """Return the strongly connected components of more than one node, sorted."""

    def reach(start: object) -> set[object]:
        seen, left = set(), [start]
        while left:
            for target in graph.get(left.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    left.append(target)
        return seen

    reached = {node: reach(node) for node in graph}
    groups = {frozenset(each for each in reached[node] if node in reached.get(each, ())) for node in graph}
    return sorted(sorted(group, key=str) for group in groups if len(group) > 1)


def folder_of(module: Module) -> str:
    """Return the top-level folder or file that a module is in; `lib` for the root."""
    return module[0] if module else "lib"


def violations(src: Path, layers: Mapping[str, set[str]]) -> list[str]:
    """Return the violations of a crate: folders without a row, unlisted uses, and cycles between folders."""
    modules = sources(src)
    graph = edges(modules)
    folders = {folder_of(module) for module in modules} - {"lib"}
    found = [f"{name} must have a row" for name in sorted(folders - set(layers))]
    found += [f"{name} is a row without a folder" for name in sorted(set(layers) - folders)]
    between: dict[str, set[str]] = {name: set() for name in folders}
    for module, targets in sorted(graph.items()):
        for target in sorted(targets):
            if module and folder_of(module) != folder_of(target):
                between[folder_of(module)].add(folder_of(target))
                if folder_of(target) not in layers.get(folder_of(module), set()):
                    found.append(f"{'::'.join(module)} must not use {'::'.join(target) or 'the root'}")
    found += [f"{' and '.join(map(str, cycle))} use each other" for cycle in cycles(dict(between))]
    files = {module: {target for target in targets if target} for module, targets in graph.items() if module}
    apart = [cycle for cycle in cycles(dict(files)) if len({folder_of(each) for each in cycle}) > 1]
    return found + [f"{[chr(47).join(each) for each in cycle]} use each other" for cycle in apart]
