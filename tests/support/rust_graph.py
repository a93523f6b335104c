"""The uses between Rust files of a crate, parsed from `use` trees, paths and re-exports.

A name is resolved to the file that defines it: re-exports are followed. Modules under `#[cfg(test)]`, comments and
strings are left out, and so are the re-exports of a module from its own folder.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
SPACE = re.compile(r"(?<!\buse)(?<!\s)\s+(?=::)|(?<=::)\s+")
RAW_NAME = re.compile(r"\br#(?=[A-Za-z_])")
# `use<'a>` in a type is not a declaration.
USE = re.compile(r"(?P<public>\bpub\b\s*(?:\([^)]*\)\s*)?)?\buse\b(?!\s*<)(?P<tree>[^;]+);")
OWN_NAME = re.compile(r"\bextern\s+crate\s+self\s+as\s+(\w+)")
PATH = re.compile(r"(?<![\w:])(?<!(?<!\.)\.)[A-Za-z_]\w*(?:::\w+)+")
Module = tuple[str, ...]
Edges = dict[Module, set[Module]]


def sources(src: Path) -> dict[Module, str]:
    """Return the sources of a crate by module path, without tests, comments and strings."""
    found = {}
    for path in sorted(src.rglob("*.rs")):
        parts = path.relative_to(src).with_suffix("").parts
        module = parts[:-1] if parts[-1] in {"mod", "lib"} else parts
        text = TEXT.sub('""', TESTS.sub("", path.read_text(encoding="utf-8")))
        found[module] = RAW_NAME.sub("", SPACE.sub("", text))
    own = {name for text in found.values() for name in OWN_NAME.findall(text)}
    if own:
        spelled = re.compile(rf"(?<![\w:])(?:::)?(?:{'|'.join(sorted(own))})(?=::|\s+as\b)")
        found = {module: spelled.sub("crate", text) for module, text in found.items()}
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
    path, *alias = re.split(r"\s+as\s+", tree.strip())
    full = (*prefix, *(part.strip() for part in path.split("::")))
    full = full[:-1] if full[-1] == "self" and len(full) > 1 else full
    yield alias[0] if alias else full[-1], full


def absolute(path: Module, module: Module, modules: Mapping[Module, str]) -> Module | None:
    """Resolve a path in a module to a path from the root of its crate; `None` for another crate."""
    if path[0] in {"crate", "self"}:
        return (() if path[0] == "crate" else module) + path[1:]
    if path[0] == "super":
        ups = next((place for place, part in enumerate(path) if part != "super"), len(path))
        return module[: max(0, len(module) - ups)] + path[ups:]
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


def is_reexport(name: str, target: Module, module: Module, code: str) -> bool:
    """Return whether a public `use` only re-exports a name of the own folder, and the code has no such name."""
    is_own = len(target) > len(module) and target[: len(module)] == module
    return is_own and (name == "*" or re.search(rf"\b{name}\b", code) is None)


def edges(modules: Mapping[Module, str]) -> Edges:
    """Return the modules that each module of a crate uses, without its re-exports from its own folder."""
    uses = {module: bound(module, modules) for module in modules}
    found: Edges = {}
    for module, text in modules.items():
        code, targets = USE.sub("", text), set()
        for match in USE.finditer(text):
            for name, path in names(match["tree"]):
                target = absolute(path, module, modules)
                if target is not None and not (match["public"] and is_reexport(name, target, module, code)):
                    targets.add(target)
        for match in PATH.finditer(code):
            head, *rest = match[0].split("::")
            target = uses[module][head] if head in uses[module] else absolute((head,), module, modules)
            if target is not None:
                targets.add((*target, *rest))
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


def violations(src: Path, layers: Mapping[str, set[str]], known: Collection[Collection[str]] = ()) -> list[str]:
    """Return the violations of a crate: folders without a row, unlisted and unused uses, and cycles.

    `known` holds the accepted cycles of files. Each must exist, in one folder.
    """
    modules = sources(src)
    graph = edges(modules)
    folders = {folder_of(module) for module in modules} - {"lib"}
    found = [f"{name} must have a row" for name in sorted(folders - set(layers))]
    found += [f"{name} is a row without a folder" for name in sorted(set(layers) - folders)]
    between: dict[str, set[str]] = {name: set() for name in {*folders, "lib"}}
    for module, targets in sorted(graph.items()):
        for target in sorted(targets):
            if folder_of(module) != folder_of(target):
                between[folder_of(module)].add(folder_of(target))
                # The root declares the folders. It may use all of them, and none may use it.
                if module and folder_of(target) not in layers.get(folder_of(module), set()):
                    found.append(f"{'::'.join(module)} must not use {'::'.join(target) or 'the root'}")
    unused = {name: uses - between.get(name, set()) for name, uses in layers.items()}
    found += [f"{name} does not use {other}" for name, others in sorted(unused.items()) for other in sorted(others)]
    found += [f"{' and '.join(map(str, cycle))} use each other" for cycle in cycles(dict(between))]
    files = {tuple("/".join(each) or "lib" for each in cycle) for cycle in cycles(dict(graph))}
    accepted = {tuple(sorted(cycle)) for cycle in known if len({name.partition("/")[0] for name in cycle}) == 1}
    found += [f"{' and '.join(cycle)} use each other" for cycle in sorted(files - accepted)]
    return found + [f"{' and '.join(cycle)} do not use each other" for cycle in sorted(accepted - files)]
