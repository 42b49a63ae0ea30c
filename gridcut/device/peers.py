"""Several GPUs of one host in one process: how many there are, working on one of them, copies between them.

A thread works on one GPU at a time: `with gpu.active():` around all that allocates, launches, copies or waits.  Copies
between GPUs go straight over NVLink or PCIe where the GPUs reach each other, else the driver takes them through the
host.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device.cuda import SIMULATED, cuda

if not SIMULATED:
    from cuda.bindings import driver

    from gridcut.device.memory import address_of, check


class Gpu(NamedTuple):
    """A GPU by its number, and the handle of what numba has there."""

    device: int
    context: object

    def active(self):
        """A context manager: what is inside works on this GPU."""
        return cuda.gpus[self.device]


def gpu_count() -> int:
    """GPUs that this process sees."""
    return len(cuda.gpus)


def open_gpus(devices) -> list[Gpu]:
    """The GPUs of these numbers, which may repeat, able to reach each other's memory where they can at all."""
    opened = {}
    for device in devices:
        if device not in opened:
            with cuda.gpus[device]:
                opened[device] = Gpu(device, None if SIMULATED else check(driver.cuCtxGetCurrent()))
    for one in opened.values():
        for other in opened.values():
            if one is not other:
                _let_reach(one, other)
    return [opened[device] for device in devices]


def _let_reach(one: Gpu, other: Gpu) -> None:
    handles = [check(driver.cuDeviceGet(gpu.device)) for gpu in (one, other)]
    if not check(driver.cuDeviceCanAccessPeer(*handles)):
        return  # copies go through the host
    with one.active():
        (error,) = driver.cuCtxEnablePeerAccess(other.context, 0)
    if error not in (driver.CUresult.CUDA_SUCCESS, driver.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED):
        raise RuntimeError(f"GPU {one.device} cannot reach GPU {other.device}: {error.name}")


def copy_between(array, gpu: Gpu, there, other: Gpu) -> None:
    """Copy a flat array on one GPU into one of the same length and dtype on another, or on the same one.

    After what both GPUs have been asked to do before, and before what they are asked for later.
    """
    if SIMULATED:
        there.copy_to_device(array.copy_to_host())
        return
    size = array.size * array.dtype.itemsize
    if gpu.device == other.device:
        with gpu.active():
            check(driver.cuMemcpyDtoDAsync(address_of(there), address_of(array), size, 0))
        return
    # Not the asynchronous one: this one waits for the work of both GPUs, and theirs waits for it.
    with gpu.active():
        check(driver.cuMemcpyPeer(address_of(there), other.context, address_of(array), gpu.context, size))


def copy_out(array, host: np.ndarray) -> None:
    """Copy a flat array on the GPU into a contiguous one on the host of the same size."""
    if SIMULATED:
        host.reshape(-1)[...] = array.copy_to_host()
    else:
        check(driver.cuMemcpyDtoH(host.ctypes.data, address_of(array), host.nbytes))
