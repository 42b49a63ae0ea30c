"""The digest that names the compiled kernels of a module: it changes with every source that their code can depend on.

numba's own cache checks one source file only, so a kernel would continue to run old code after a function that it calls
in another file has changed.  Here the name of a file contains a digest of every source file that the kernel's module
imports, directly or not, and of the versions of Python, numba and NumPy.  An edit of any of them changes the names, so
outdated code is never loaded.
"""

import hashlib
import os
import re
import sys
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba
import numpy

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("gridcut", "assign", "matching", "apps")  # in site-packages, there are others beside them
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#(]*)|import[ \t]+([\w., \t]+))", re.M
)


def versions() -> dict[str, str]:
    """Versions that compiled code depends on; NumPy's without the last number, which keeps the layout of arrays."""
    return {
        "python": "{}.{}".format(*sys.version_info[:2]),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": ".".join(numpy.__version__.split(".")[:2]),
    }


@cache
def package_of(filename: str | Path) -> Path:
    """The topmost package folder that contains a source file."""
    folder = Path(filename).resolve().parent
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


@cache
def module_of(filename: str) -> str:
    """The full name of the module of a source file."""
    file = Path(filename).resolve()
    return ".".join(file.relative_to(package_of(filename).parent).with_suffix("").parts)


class _Source(NamedTuple):
    digest: bytes
    modified: float


@cache
def _read(file: str, package: Path) -> tuple[_Source, tuple[str, ...]]:
    """The digest of a source file, and the files that it imports from `package` and from this project's."""
    with open(file, "rb") as source:
        modified = os.fstat(source.fileno()).st_mtime
        text = source.read()
    roots = {package.name: package.parent, **dict.fromkeys(_PACKAGES, _ROOT)}
    found: dict = {}  # the keys are the files
    for module, names, plain in _IMPORT.findall(text.decode("utf-8", "replace")):
        if module.startswith("."):
            raise OSError(f"{file}: kernels of modules with relative imports are not cached")
        listed = re.sub(r"\bas\s+\w+", "", names or plain)
        modules = (
            [module, *(f"{module}.{name}" for name in re.findall(r"\w+", listed))] if module else listed.split(",")
        )
        for name in modules:
            name = name.strip()
            root = roots.get(name.partition(".")[0])
            if root is not None and (imported := _source_of(root, name)) is not None:
                found[imported] = None
    return _Source(hashlib.sha256(text).digest(), modified), tuple(found)


@cache
def _source_of(root: Path, module: str) -> str | None:
    """The file of a module below `root`, the folder that contains its package."""
    path = os.path.join(root, *module.split("."))
    for file in (path + ".py", os.path.join(path, "__init__.py")):
        if os.path.isfile(file):
            return file
    return None


@cache
def _sources(file: str) -> dict[str, _Source]:
    """A file and all files that it imports, directly or not, from its package and this project's."""
    package = package_of(file)
    seen: dict[str, _Source] = {}
    pending = [file]
    while pending:
        file = pending.pop()
        if file not in seen:
            seen[file], imports = _read(file, package)
            pending.extend(imports)
    return seen


def _functions(value, seen: set[int]):
    """Yield the Python functions that a value contains, also in its closures."""
    if id(value) in seen:
        return
    seen.add(id(value))
    value = getattr(value, "py_func", value)
    if isinstance(value, tuple | list):
        for item in value:
            yield from _functions(item, seen)
    elif hasattr(value, "__code__"):
        yield value
        for cell in value.__closure__ or ():
            yield from _functions(cell.cell_contents, seen)


def _sources_of(function) -> dict[str, _Source]:
    """All sources that a kernel's machine code can depend on."""
    seen: dict[str, _Source] = {}
    for part in _functions(function, set()):
        seen |= _sources(os.path.realpath(part.__code__.co_filename))
    return seen


def edited_since(then: float, function) -> bool:
    """Whether a source of a kernel was modified between then and now; a later date is of another clock."""
    now = time.time()
    return any(then <= source.modified <= now for source in _sources_of(function).values())


def source_digest(function) -> str:
    """Sixteen hexadecimal digits that change with every source that a kernel's machine code can depend on."""
    return _digest(_sources_of(function))


def module_digest(module: str) -> str:
    """The digest of the kernels of a module, without functions of others in closures; empty without the module."""
    file = _source_of(_ROOT, module)
    return _digest(_sources(os.path.realpath(file))) if file else ""


def _digest(seen: dict[str, _Source]) -> str:
    total = hashlib.sha256(f"{versions()} {numba.config.BOUNDSCHECK}".encode())
    for file in sorted(seen):
        total.update(os.path.basename(file).encode() + seen[file].digest)
    return total.hexdigest()[:16]
