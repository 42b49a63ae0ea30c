"""Names that numba and llvmlite do not document are used in the files that guard them, and nowhere else."""

import ast
import re
from pathlib import Path

import pytest

from gridcut.device.numba_internals import CPU, CUDA

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("numba", "numba_cuda", "llvmlite")
DOCUMENTED = {
    "numba",
    "numba.extending",
    "numba.core.event",
    "numba.cuda",
    "numba.cuda.extending",
    "llvmlite",
    "llvmlite.binding",
    "llvmlite.ir",
}
GUARDED = {"numba_internals.py", "numba_cuda_internals.py", "numba_simulator_internals.py"}  # the last of tests
# Tests of those files, and of the compiler's output, which look at what they test.
TESTS = {"test_numba_internals.py", "test_unload.py", "test_cuda_compile.py", "test_threads.py"}
# `library`, `np`, `close` and `dumps` are words of other libraries, too; the imports of their modules are found.
UNDOCUMENTED = {row.name for row in (*CPU, *CUDA)}
UNDOCUMENTED -= {"library", "cooperative", "np", "dumps", "Array", "close"}
UNDOCUMENTED |= {"cudadrv", "_codelibrary", "_ary", "_cache_file", "_impl_class", "_is_initialized"}
WORDS = re.compile("|".join(map(re.escape, (*LIBRARIES, *UNDOCUMENTED))))  # no other file need be parsed
FOLDERS = ("gridcut", "assign", "matching", "apps", "cutmatch", "plugins", "benchmarks", "tests")


def private_names(source: str) -> list[str]:
    """The undocumented names that a file uses, with their lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in LIBRARIES:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
            if node.module not in DOCUMENTED:
                found += [(node.lineno, module) for module in modules if module not in DOCUMENTED]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] in LIBRARIES]
            found += [(node.lineno, name) for name in names if name not in DOCUMENTED]
        elif isinstance(node, ast.Attribute) and node.attr in UNDOCUMENTED:
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.keyword) and node.arg in UNDOCUMENTED:
            found.append((node.value.lineno, node.arg))
        elif isinstance(node, ast.FunctionDef) and node.name in UNDOCUMENTED:
            found.append((node.lineno, node.name))
    return [f"line {line}: {name}" for line, name in found]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_private_name_of_numba(folder):
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path.name not in GUARDED | TESTS and WORDS.search(source := path.read_text("utf-8")):
            place = path.relative_to(ROOT).as_posix()
            found += [f"{place}, {use}" for use in private_names(source)]
    assert found == [], f"move them to {', '.join(sorted(GUARDED))}"


def compiler_imports(source: str) -> list[int]:
    """Lines that import numba.cuda or the driver; in a file with CUDA kernels also those that import numba."""
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    named = [
        (node.lineno, f"{getattr(node, 'module', None) or ''}.{alias.name}".strip("."))
        for node in imports
        for alias in node.names
    ]
    has_kernels = {f"gridcut.device.cuda.{name}" for name in ("cuda_kernel", "device_function")} & {n for _, n in named}
    compilers = ("numba.cuda", "numba_cuda", "cuda.bindings", "cuda.core") + ("numba",) * bool(has_kernels)
    return [line for line, name in named if any(f"{name}.".startswith(f"{compiler}.") for compiler in compilers)]


def test_only_the_device_package_imports_the_compiler_of_cuda_kernels():
    found = []
    for folder in ("gridcut", "assign", "matching", "apps", "cutmatch", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if not place.startswith("gridcut/device/") and "cuda" in (source := path.read_text("utf-8")):
                found += [place] * bool(compiler_imports(source))
    assert found == ["apps/info.py"], "take them from gridcut.device.cuda, cuda_types and cuda_warp"
