"""Copies of large arrays through pinned memory: with a driver that transfers as late as a GPU may, and on a GPU."""

import ctypes
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from gridcut.device.pool import SLOT, SLOTS, Slots

SIZES = [1, SLOT - 1, SLOT, 3 * SLOT + 5, 0, 7 * SLOT]


class Driver:
    """A driver whose transfers happen only when an event after them is waited for; the third may fail."""

    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)

    def __init__(self, error=0):
        self.error, self.pending, self.done, self.events = error, [], 0, []
        self.lock = threading.Lock()
        self.memory = np.empty(SLOTS * SLOT, np.uint8)
        self.slots = Slots(self.memory.ctypes.data, self)

    def cuEventCreate(self, flags):
        self.events.append(0)
        return 0, len(self.events) - 1

    def cuEventRecord(self, event, stream):
        self.events[event] = len(self.pending)
        return (0,)

    def cuEventSynchronize(self, event):
        with self.lock:
            for target, source, size in self.pending[self.done : self.events[event]]:
                ctypes.memmove(target, source, size)
            self.done = max(self.done, self.events[event])
        return (0,)

    def cuCtxGetCurrent(self):
        return 0, None

    def cuCtxSetCurrent(self, context):
        return (0,)

    def cuMemcpyHtoDAsync(self, target, source, size, stream):
        self.pending.append((target, source, size))
        return (self.error if len(self.pending) == 3 else 0,)

    cuMemcpyDtoHAsync = cuMemcpyHtoDAsync


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, size, np.uint8) for size in SIZES]


def test_arrays_arrive(given):
    driver = Driver()
    for arrays in (given, [a[::-1].copy() for a in given]):  # the second time, the slots are in use from before
        there = [np.zeros_like(a) for a in arrays]
        for array, to in zip(arrays, there, strict=True):
            driver.slots.send(array, to.ctypes.data)
        for event in range(SLOTS):
            driver.cuEventSynchronize(event)
        np.testing.assert_array_equal(np.concatenate(there), np.concatenate(arrays))


def test_arrays_return(given):
    driver = Driver()
    for there in given:
        found = np.zeros_like(there)
        driver.slots.receive(found, there.ctypes.data)
        np.testing.assert_array_equal(found, there)


@pytest.mark.parametrize("copy", ["send", "receive"])
def test_an_error_of_a_transfer_is_raised(copy, given):
    driver = Driver(SimpleNamespace(name="CUDA_ERROR_LAUNCH_FAILED"))
    with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED"):
        getattr(driver.slots, copy)(given[-1].copy(), given[-1].ctypes.data)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int32, np.int64, np.float64])
def test_large_arrays_go_to_the_gpu_and_back(dtype):
    from gridcut.device.arrays import download, overwrite, upload_all

    rng = np.random.default_rng(1)
    given = [rng.integers(0, 2, size).astype(dtype) for size in (1, 5 << 22, (17 << 20) + 3, 0)]
    given[1].flags.writeable = False
    copies = upload_all(given)
    for array, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(download(copy)[: array.size], array)
    other = 1 - given[2].astype(np.int8)
    overwrite(copies[2], other.astype(dtype))
    np.testing.assert_array_equal(download(copies[2]), other.astype(dtype))
