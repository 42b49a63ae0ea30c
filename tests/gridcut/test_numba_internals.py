"""The private names of numba: which of them this version lacks, and what happens without them."""

from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import config

from gridcut.device import kernel, numba_internals, thread_count
from gridcut.device.choose import numba_cuda_is_installed
from gridcut.device.numba_internals import CPU, CUDA, CpuCode, need

on_numba_cuda = pytest.mark.skipif(
    not numba_cuda_is_installed() or bool(config.ENABLE_CUDASIM), reason="numba-cuda's own names"
)


def named(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: f"{row.owner}.{row.name}")


def doubled(values):
    return values * 2


def compiled():
    dispatcher = numba.njit(doubled)
    dispatcher(1)
    return dispatcher


def device_array():
    from numba import cuda

    return cuda.cudadrv.devicearray.DeviceNDArray((2,), (4,), np.dtype(np.int32), gpu_data=object())


def cuda_dispatcher():
    from numba import cuda

    return cuda.jit(lambda array: None)


def gpu_context():
    """The attributes that the constructor of a context sets, without a GPU."""
    from numba.cuda.cudadrv.driver import Context

    names = set(Context.__init__.__code__.co_names)
    return SimpleNamespace(**dict.fromkeys(names))


def compiled_for_cuda():
    from numba.cuda.dispatcher import _Kernel

    names = {name for function in (_Kernel.__init__, _Kernel._rebuild) for name in function.__code__.co_names}
    return SimpleNamespace(**dict.fromkeys(names | set(vars(_Kernel))))


OWNERS = {
    "a dispatcher": compiled,
    "a code generator": lambda: compiled().targetctx.codegen(),
    "a context": lambda: compiled().targetctx,
    "a compiled kernel": lambda: next(iter(compiled().overloads.values())),
    "a device array": device_array,
    "a CUDA dispatcher": cuda_dispatcher,
    "a GPU's context": gpu_context,
    "a compiled CUDA kernel": compiled_for_cuda,
}


def owner_of(row):
    if row.owner in OWNERS:
        return OWNERS[row.owner]()
    if row.name == "_get_num_threads":
        numba.get_num_threads()  # which makes it
    try:
        return import_module(row.owner)
    except ModuleNotFoundError:
        module, _, name = row.owner.rpartition(".")
        return getattr(import_module(module), name)


def check(row):
    assert hasattr(owner_of(row), row.name), f"numba lacks {row.name} of {row.owner}, {row.use}: {row.without}"


@named(CPU)
def test_numba_has(row):
    check(row)


@on_numba_cuda
@named(CUDA)
def test_numba_cuda_has(row):
    check(row)


# Versions that lack a name


class Lacking:
    """Another object without some of its attributes."""

    def __init__(self, whole, *names):
        self._whole, self._names = whole, names

    def __getattr__(self, name):
        if name in self._names:
            raise AttributeError(name)
        return getattr(self._whole, name)


@named([row for row in CPU if row.without == "ImportError"])
def test_the_error_names_the_version(row):
    with pytest.raises(ImportError, match=rf"numba {version('numba')} lacks {row.name} .*; cutmatch was tested with "):
        need(Lacking(owner_of(row), row.name), row.name, CPU)


@pytest.mark.parametrize("missing", [*range(len(CpuCode.needs)), "dumps"])
def test_kernels_that_cannot_be_stored_run(missing, monkeypatch):
    if missing == "dumps":
        monkeypatch.setattr(numba_internals, "dumps", None)
    else:
        needs = [None if i == missing else need for i, need in enumerate(CpuCode.needs)]
        monkeypatch.setattr(CpuCode, "needs", tuple(needs))
    found = kernel(doubled)
    assert found(4) == 8
    assert not found.stats.cache_path


def test_threads_are_counted_with_numbas_lock(monkeypatch):
    count = thread_count()
    for lacking in (None, Lacking(numba_internals._threads, "_get_num_threads")):
        monkeypatch.setattr(numba_internals, "_threads", lacking)
        assert numba_internals.thread_count_without_lock() == 0
        assert thread_count() == count
