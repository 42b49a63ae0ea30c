"""The digest that names the compiled kernels of a module: it changes with every source that their code can depend on.

numba's own cache checks one source file only, so a kernel would continue to run old code after a function that it calls
in another file has changed.  Here the name of a file contains a digest of every source file that the kernel's module
imports, directly or not, and of the versions of Python, numba and NumPy.  An edit of any of them changes the names, so
outdated code is never loaded.
"""

import hashlib
import re
import sys
from functools import cache
from pathlib import Path

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


def package_of(filename: str | Path) -> Path:
    """The topmost package folder that contains a source file."""
    folder = Path(filename).resolve().parent
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


@cache
def _read(path: Path) -> tuple[bytes, tuple[tuple[str, ...], ...]]:
    """The digest of a source file, and the possible module names that each of its imports refers to."""
    text = path.read_bytes()
    found = []
    for module, names, plain in _IMPORT.findall(text.decode("utf-8", "replace")):
        if module:
            parts = re.findall(r"\w+", re.sub(r"\bas\s+\w+", "", names))
            found.append((module, *(f"{module}.{part}" for part in parts)))
        else:
            found.append(tuple(re.sub(r"\bas\s+\w+", "", plain).replace(",", " ").split()))
    return hashlib.sha256(text).digest(), tuple(found)


@cache
def _source_of(root: Path, module: str) -> Path | None:
    """The file of a module below `root`, the folder that contains its package."""
    path = root.joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def _sources(path: Path, roots: dict[str, Path], seen: dict[Path, bytes]) -> None:
    """Add a file and every file it imports from the packages in `roots`, directly or not, with their digests.

    `roots` maps the name of a package to the folder that contains it.
    """
    pending = [path]
    while pending:
        file = pending.pop()
        if file in seen:
            continue
        seen[file], imports = _read(file)
        for modules in imports:
            for module in modules:
                if module.startswith("."):
                    raise OSError(f"{file}: kernels of modules with relative imports are not cached")
                root = roots.get(module.split(".")[0])
                if root is not None and (source := _source_of(root, module)) is not None:
                    pending.append(source)


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


def source_digest(function) -> str:
    """Sixteen hexadecimal digits that change with every source that a kernel's machine code can depend on."""
    seen = {}
    for part in _functions(function, set()):
        path = Path(part.__code__.co_filename).resolve()
        package = package_of(path)
        _sources(path, {package.name: package.parent, **dict.fromkeys(_PACKAGES, _ROOT)}, seen)
    total = hashlib.sha256(f"{versions()} {numba.config.BOUNDSCHECK}".encode())
    for path in sorted(seen):
        total.update(path.name.encode() + seen[path])
    return total.hexdigest()[:16]
