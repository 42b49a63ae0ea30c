"""Every CUDA kernel compiled to machine code for the newest device, and once for the oldest, without a device.

gridcut_kernels.py, assign_kernels.py and matching_kernels.py list the kernels with the types of their arguments.
The compiler's output says what a kernel takes: registers, and bytes of local memory a thread, which is where arrays
with run-time indices and registers that did not fit go.  Both cost more than any trick in a kernel saves.
"""

import ast
import importlib
import importlib.util
import inspect
import re
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import config, from_dtype
from numba import types as numba_types

import gridcut

pytestmark = pytest.mark.compile

if importlib.util.find_spec("numba_cuda") is None or config.ENABLE_CUDASIM:
    pytest.skip("CUDA kernels are compiled by numba-cuda, without the simulator", allow_module_level=True)

OLDEST, NEWEST = (7, 5), (9, 0)
MAX_REGISTERS = 128  # two blocks of 256 threads on a multiprocessor
MAY_SPILL = {
    "auction_kernel": 64,
    "augment_kernel": 192,
    "discharge_kernel": 400,
    "graft_kernel": 112,
    "relabel_kernel": 160,
    "rounds_kernel": 112,
    "team_kernel": 16,
    "tile_rounds_kernel": 144,
    "wave_kernel": 16,
}  # kernel's name: bytes of local memory a thread, which buy a second block on a multiprocessor or come with sm_75
PACKAGES = ("gridcut", "assign", "matching")
ROOT = Path(gridcut.__file__).parents[1]

REGISTERS, FRAME = 0x2F, 0x11  # records of .nv.info: (symbol, registers) and (symbol, bytes of local memory)


def listed():
    for package in PACKAGES:
        lists = importlib.import_module(f"tests.repository.{package}_kernels")
        for file, function in vars(lists).items():
            if inspect.isfunction(function) and not file.startswith("_"):
                for name, kernel, types in function():
                    yield pytest.param(kernel, types, id=f"{package}.{file}-{name}")


def for_devices():
    """Every case for the newest device; for the oldest the first case of each kernel, and the others marked slow."""
    seen = set()
    for case in listed():
        kernel, types = case.values
        again = [pytest.mark.slow] if kernel.py_func.__code__ in seen else []
        seen.add(kernel.py_func.__code__)
        yield pytest.param(kernel, types, OLDEST, id=f"{case.id}-sm_75", marks=again)
        yield pytest.param(kernel, types, NEWEST, id=f"{case.id}-sm_90")


@pytest.fixture
def no_driver(monkeypatch):
    """Kernels that call device functions ask which device they are for."""

    def assume(capability):
        device = SimpleNamespace(compute_capability=capability)
        monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: device)

    return assume


def machine_code(kernel, types, capability):
    """PTX, and the ELF file linked from it, compiled and linked as a launch does."""
    from cuda.core import Linker, LinkerOptions, ObjectCode
    from numba import cuda
    from numba.cuda.cudadrv.libs import get_cudalib

    options = kernel.targetoptions
    code, _ = cuda.compile(
        kernel.py_func,
        types,
        cc=capability,
        output="ltoir",
        device=False,
        abi="numba",
        fastmath=options["fastmath"],
        launch_bounds=options["launch_bounds"],
    )
    code = ObjectCode.from_ltoir(code)
    runtime = ObjectCode.from_library(get_cudalib("cudadevrt", static=True))
    linking = {"arch": "sm_{}{}".format(*capability), "link_time_optimization": True}
    linking["max_register_count"] = options.get("max_registers")
    ptx = Linker(code, options=LinkerOptions(ptx=True, **linking)).link("ptx").code
    return ptx.decode(), Linker(code, runtime, options=LinkerOptions(**linking)).link("cubin").code


def used(ptx, elf):
    """Registers, and bytes of local memory, that each thread of the kernel takes; of its own, not of what it calls."""
    (kernel,) = re.findall(r"\.entry (\w+)", ptx)
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    width, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * width) for i in range(count)]

    def text(at):
        return elf[at : elf.index(b"\0", at)].decode()

    where = {text(headers[names][4] + name): (start, start + size) for name, _, _, _, start, size in headers}
    found = {}
    i, end = where[".nv.info"]
    while i < end:
        form, record, length = struct.unpack_from("<BBH", elf, i)
        i += 4
        if form == 4:  # a value of `length` bytes follows; other forms keep theirs in the length's place
            symbol, value = struct.unpack_from("<II", elf, i)
            (name,) = struct.unpack_from("<I", elf, where[".symtab"][0] + 24 * symbol)
            if text(where[".strtab"][0] + name) == kernel:
                found[record] = value
            i += length
    return found[REGISTERS], found[FRAME]


@pytest.mark.parametrize(("kernel", "types", "capability"), list(for_devices()))
def test_kernels_compile_within_their_registers(kernel, types, capability, no_driver):
    no_driver(capability)
    ptx, elf = machine_code(kernel, types, capability)
    assert ".entry" in ptx
    assert ".local" not in ptx, "an array with run-time indices"
    registers, local = used(ptx, elf)
    assert local <= MAY_SPILL.get(kernel.py_func.__name__, 0), f"{local} bytes of local memory a thread"
    assert registers <= MAX_REGISTERS


@pytest.mark.parametrize(("kernel", "arguments"), list(listed()))
def test_no_kernel_is_launched_the_slow_way(kernel, arguments):
    """A launch whose arguments gridcut/device/launch.py does not know is numba's, some 150 microseconds slower."""
    from gridcut.device.launch import SCALARS

    known = {str(numba_types.int64 if kind is int else from_dtype(np.dtype(kind))) for kind in SCALARS}
    flat = [part for a in arguments for part in (a if isinstance(a, numba_types.BaseTuple) else (a,))]
    assert {str(a) for a in flat if not isinstance(a, numba_types.Array)} <= known


def test_kernels_have_the_same_key_in_every_process():
    """Otherwise every process compiles and stores them again."""
    code = """
from types import SimpleNamespace
from tests.repository.test_cuda_compile import listed
for case in listed():
    kernel, *_ = case.values
    print(case.id, kernel._cache._code.key((), SimpleNamespace(magic_tuple=tuple)))
"""
    run = [sys.executable, "-c", code]
    first, second = (subprocess.run(run, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True) for _ in range(2))
    assert first.stdout.count("\n") > 100
    assert first.stdout == second.stdout


def test_the_compiler_is_read_correctly(no_driver):
    """A kernel with an array it indexes by data has a frame; with few registers allowed, others spill."""
    from numba import cuda, int32

    def sort_of(a, out):
        cells = cuda.local.array(16, int32)
        for i in range(16):
            cells[i] = a[i]
        out[cuda.grid(1)] = cells[a[16] & 15]

    no_driver(NEWEST)
    kernel = SimpleNamespace(py_func=sort_of, targetoptions={"fastmath": False, "launch_bounds": None})
    ptx, elf = machine_code(kernel, (int32[::1], int32[::1]), NEWEST)
    registers, local = used(ptx, elf)
    assert ".local" in ptx
    assert local >= 64
    assert 8 <= registers < 64


def decorated():
    """(file, line) of every function that `cuda_kernel` decorates, also inside other functions."""
    paths = [path for name in PACKAGES for path in (ROOT / name.split(".")[0]).rglob("*.py")]
    for path in sorted(paths):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    name = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if getattr(name, "id", getattr(name, "attr", None)) == "cuda_kernel":
                        yield path.resolve(), node.decorator_list[0].lineno, node.name


def test_no_kernel_is_forgotten():
    codes = [case.values[0].py_func.__code__ for case in listed()]
    known = {(Path(code.co_filename).resolve(), code.co_firstlineno) for code in codes}
    missing = [
        f"{path.relative_to(ROOT)}:{line} {name}" for path, line, name in decorated() if (path, line) not in known
    ]
    assert missing == [], "kernels that are not listed"
