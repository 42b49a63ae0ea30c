"""Several GPUs of one host in one process: their number, selecting one of them, and copies between them.

One GPU is active per thread: allocate, launch, copy and wait inside `with gpu.active():`.  Copies between GPUs go
directly over NVLink or PCIe if the GPUs have peer access; else the driver copies through the host.
"""

from contextlib import contextmanager
from typing import NamedTuple

from cuda.bindings import driver

from gridcut.device.arrays import refusing
from gridcut.device.cuda import cuda
from gridcut.device.numba_cuda_internals import address_of
from gridcut.device.pool import check


class Gpu(NamedTuple):
    """Index of a GPU, and the handle of numba's context on it."""

    device: int
    context: object

    @contextmanager
    def active(self):
        """Make this GPU the active one of the thread; its errors name it."""
        try:
            with cuda.gpus[self.device], refusing():
                yield
        except MemoryError as error:
            raise MemoryError(f"GPU {self.device}: {error}, or list more GPUs in devices") from error
        except Exception as error:
            if "CUDA_ERROR" not in str(error):
                raise
            remedy = "start a new process, and leave this GPU out of devices if it fails again"
            raise RuntimeError(f"GPU {self.device} failed: {error}; {remedy}") from error


def open_gpus(devices) -> list[Gpu]:
    """The GPUs with these indices, which may repeat, with peer access enabled wherever it is supported."""
    opened = {}
    for device in devices:
        if device not in opened:
            with cuda.gpus[device]:
                opened[device] = Gpu(device, check(driver.cuCtxGetCurrent()))
    for one in opened.values():
        for other in opened.values():
            if one is not other:
                _enable_peer_access(one, other)
    return [opened[device] for device in devices]


def _enable_peer_access(one: Gpu, other: Gpu) -> None:
    handles = [check(driver.cuDeviceGet(gpu.device)) for gpu in (one, other)]
    if not check(driver.cuDeviceCanAccessPeer(*handles)):
        return  # copies go through the host
    with one.active():
        (error,) = driver.cuCtxEnablePeerAccess(other.context, 0)
    if error not in (driver.CUresult.CUDA_SUCCESS, driver.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED):
        raise RuntimeError(f"GPU {one.device} cannot access the memory of GPU {other.device}: {error.name}")


def copy_between(array, gpu: Gpu, there, other: Gpu) -> None:
    """Copy a flat array on one GPU into an array of the same length and dtype on another GPU, or on the same one.

    The copy runs after all work enqueued on both GPUs before, and before all work enqueued later.
    """
    size = array.size * array.dtype.itemsize
    if gpu.device == other.device:
        with gpu.active():
            check(driver.cuMemcpyDtoDAsync(address_of(there), address_of(array), size, 0))
        return
    # The synchronous function orders the copy with the work of both GPUs; the asynchronous one does not.
    with gpu.active():
        check(driver.cuMemcpyPeer(address_of(there), other.context, address_of(array), gpu.context, size))
