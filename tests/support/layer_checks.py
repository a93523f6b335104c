"""The imports of the Python modules, checked against the tables of `layers.py`.

Each checker takes text, so that tests can plant violations.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from layers import ANY, CORE, DEFERRED, LAYERS, ROOT_NAMES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "openoutcry"
NATIVE = "openoutcry.openoutcry_py"
# An import by a computed name, which only the modules of `by_name` may contain.
BY_NAME = "an import by name"
LOADERS = {"imp", "importlib", "pkgutil", "runpy", "zipimport"}
READERS = {"importlib.metadata", "importlib.resources"}
BUILTINS = {"__import__", "eval", "exec"}
BUILTIN_PATHS = {f"builtins.{name}" for name in BUILTINS}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TEXTS = {module: path.read_text(encoding="utf-8") for module, path in SOURCES.items()}
MODULES = {*SOURCES, NATIVE}
FOLDERS = {module for module, path in SOURCES.items() if path.name == "__init__.py"} - {"openoutcry"}


def belongs(module: str, pattern: str) -> bool:
    """Return whether a module matches a pattern: `a`, `a.*` for all modules below `a`, or `*`."""
    return pattern in (module, ANY) or (pattern.endswith(".*") and module.startswith(pattern[:-1]))


def layer_of(module: str) -> str | None:
    """Return the row of a module; the longest pattern wins."""
    found = [(len(each), name) for name, row in LAYERS.items() for each in row.modules if belongs(module, each)]
    return max(found)[1] if found else None


def target_of(path: str) -> str | None:
    """Return what a dotted path imports: a module, a name of the root, or an import by name."""
    top = path.split(".")[0]
    if top in LOADERS and not any(belongs(path, each) or belongs(path, f"{each}.*") for each in READERS):
        return BY_NAME
    if any(belongs(path, each) or belongs(path, f"{each}.*") for each in ("sys.modules", *BUILTIN_PATHS)):
        return BY_NAME
    parts = path.split(".")
    found = next((name for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in MODULES), None)
    # The root re-exports the names of other modules, so that its names are rows of their own.
    return ".".join(parts[:2]) if found == "openoutcry" else found


def bindings(tree: ast.AST) -> dict[str, str]:
    """Return the names that the imports of a syntax tree bind, and their dotted paths."""
    found = {}
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            if isinstance(node, ast.ImportFrom):
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            else:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
    return found


def stated(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the targets of an import statement."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield BY_NAME if target_of(alias.name) == BY_NAME else alias.name
        return
    origin = "." * node.level + (node.module or "")
    for alias in node.names:
        member = target_of(f"{origin}.{alias.name}")
        yield member if member not in (None, "openoutcry") else origin


def attributes(node: ast.AST) -> tuple[str, ...] | None:
    """Return the names of an attribute of a name, as in `a.b.c`."""
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name):
            return node.value.id, node.attr
        inner = attributes(node.value)
        return None if inner is None else (*inner, node.attr)
    return None


def reached(node: ast.AST, bound: dict[str, str]) -> Iterator[str]:
    """Yield the target that an expression reaches through an imported module."""
    if isinstance(node, ast.Name) and (node.id in BUILTINS or bound.get(node.id) == "openoutcry"):
        # The root as a value: its names are not known.
        yield BY_NAME if node.id in BUILTINS else "openoutcry.*"
    elif (isinstance(node, ast.Constant) and node.value == "__import__") or (
        isinstance(node, ast.Attribute) and node.attr in {"__import__", "import_module"}
    ):
        yield BY_NAME
    elif (chain := attributes(node)) is not None and (home := bound.get(chain[0])) is not None:
        target = target_of(".".join((home, *chain[1:])))
        if target not in (None, target_of(home)):
            yield target


def imports(node: ast.AST, later: bool = False, bound: dict[str, str] | None = None) -> Iterator[tuple[str, bool]]:
    """Yield the modules that a syntax tree imports, and whether each import is deferred."""
    bound = bindings(node) if bound is None else bound
    for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    for child in ast.iter_child_nodes(node):
        is_later = later or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        is_later = is_later or (for_types and child in node.body)
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield from ((target, is_later) for target in stated(child))
        else:
            yield from ((target, is_later) for target in reached(child, bound))
        if attributes(child) is None:
            yield from imports(child, is_later, bound)


IMPORTS = {module: list(dict.fromkeys(imports(ast.parse(text)))) for module, text in TEXTS.items()}


def is_deferred(module: str, target: str) -> bool:
    return any(belongs(module, source) and belongs(target, to) for source, to in DEFERRED)


def is_allowed(module: str, target: str, later: bool) -> bool:
    name = layer_of(module)
    row = LAYERS[name]
    top = target.split(".")[0]
    if target == BY_NAME:
        return module in row.by_name
    if target == "openoutcry":
        return any(module in modules for modules in ROOT_NAMES.values())
    if top == "openoutcry":
        other = layer_of(target)
        near = other == name or other in row.layers or module in ROOT_NAMES.get(target.partition(".")[2], ())
        return near if other is None else near or (later and is_deferred(module, target))
    return top in sys.stdlib_module_names or top in row.libraries or (later and top in row.deferred)


def python_faults(module: str, text: str) -> list[str]:
    """Return the imports of a module that its layer does not allow."""
    name = layer_of(module)
    if name is None:
        return [f"{module} must have a row in LAYERS"]
    return [
        f"{module} ({name}) must not import {target}{' later' if later else ''}"
        for target, later in dict.fromkeys(imports(ast.parse(text)))
        if not is_allowed(module, target, later)
    ]


def arrows_of(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports, also inside functions and for types, with their packages."""
    found = {}
    for module, text in texts.items():
        targets = {target for target, _ in imports(ast.parse(text))} & MODULES
        packages = {target.rsplit(".", n)[0] for target in targets for n in range(1, target.count("."))}
        # An import of `a.b.c` imports `a.b` first. Within `a.b` that is imported already, and so is the root.
        around = {each for each in packages if module.startswith(f"{each}.")}
        found[module] = (targets | packages - around) & MODULES - {module, "openoutcry"}
    return found


def uses() -> dict[str, dict[str, bool]]:
    """Return the rows and libraries that each row imports, and whether all of these imports are deferred."""
    found: dict[str, dict[str, bool]] = {name: {} for name in LAYERS}
    for module, targets in IMPORTS.items():
        used = found[layer_of(module)]
        for target, later in targets:
            top = target.split(".")[0]
            name = layer_of(target) if top == "openoutcry" else top
            if name is not None:
                used[name] = used.get(name, True) and later
    return found


def imported_units(folder: str) -> set[str]:
    """Return what the modules of a folder import from outside it.

    In the same folder of the package, these are modules and folders (`arena.store`), elsewhere only folders (`data`).
    """
    top = folder.split(".")[1]
    found = set()
    for module, targets in IMPORTS.items():
        if belongs(module, folder) or belongs(module, f"{folder}.*"):
            for target, _ in targets:
                parts = target.split(".")[1:] if target in MODULES else []
                if parts and not (belongs(target, folder) or belongs(target, f"{folder}.*")):
                    found.add(".".join(parts[:2]) if parts[0] == top else parts[0])
    return found


def docstring_faults(folder: str, text: str) -> list[str]:
    """Return the differences between the imports of a folder and those that its docstring states after `Imports`.

    "The core" stands for the rows of `CORE`, and "the native module" for itself. Names of the folder's own modules are
    subjects.
    """
    sentence = re.search(r"\bImports\s(.*?)\.(?=\s|$)", text, re.DOTALL)
    if sentence is None:
        return [f"{folder} must state what it imports"]
    said = " ".join(sentence[1].split())
    names = {name.removeprefix("openoutcry.") for name in re.findall(r"`([a-z_.]+)`", said)}
    names |= {"openoutcry_py"} if "the native module" in said else set()
    units = imported_units(folder)
    names -= {name for name in names - units if f"{folder}.{name}" in MODULES}
    core = {each.split(".")[1] for row in CORE.split() for each in LAYERS[row].modules} if "the core" in said else set()

    def states(name: str, unit: str) -> bool:
        return name in (unit, unit.split(".")[-1], unit.split(".")[0]) or unit == name.split(".")[0]

    missing = {unit for unit in units - core if not any(states(name, unit) for name in names)}
    extra = {name for name in names if not any(states(name, unit) for unit in units)}
    return [f"{folder} imports {unit}" for unit in sorted(missing)] + [
        f"{folder} does not import {name}" for name in sorted(extra)
    ]
