"""Copies through pinned memory: by threads that call a GPU's driver, here one of Python functions, and on a GPU."""

import ctypes
import threading

import numpy as np
import pytest

from gridcut.device.staging import MOST_THREADS, SLOT, SLOTS, Calls, Ring, narrower, receive, send

SIZES = [1, SLOT - 1, SLOT, 3 * SLOT + 5, 0, 7 * SLOT]
U8, U16 = np.dtype(np.uint8), np.dtype(np.uint16)


class Driver:
    """A driver whose transfers happen only when an event after them is waited for, as late as a GPU may."""

    def __init__(self, threads=2, error=None):
        self.memory = np.empty(MOST_THREADS * SLOTS * SLOT, np.uint8)
        self.ring = Ring(self.memory.ctypes.data, np.arange(MOST_THREADS * SLOTS), 7)
        self.threads, self.error = threads, error
        self.lock, self.pending, self.done, self.recorded = threading.Lock(), [], 0, {}
        self.inside = 0
        functions = [(self.enter, 1), (self.leave, 1), (self.start, 4), (self.record, 2), (self.wait, 1)]
        self.kept = [ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * count)(f) for f, count in functions]
        self.calls = Calls(*(ctypes.cast(f, ctypes.c_void_p).value for f in self.kept))

    def enter(self, context):
        with self.lock:
            self.inside += 1
        return 0 if context == 7 else 201

    def leave(self, nothing):
        with self.lock:
            self.inside -= 1
        return nothing

    def start(self, target, source, size, stream):
        with self.lock:
            self.pending.append((target, source, size))
            return self.error if self.error and len(self.pending) == 3 else stream

    def record(self, event, stream):
        with self.lock:
            self.recorded[event] = len(self.pending)
        return stream

    def wait(self, event):
        self.finish(self.recorded.get(event, 0))
        return 0

    def finish(self, count=None):
        with self.lock:
            count = len(self.pending) if count is None else count
            for target, source, size in self.pending[self.done : count]:
                ctypes.memmove(target, source, size)
            self.done = max(self.done, count)

    def send(self, *copies):
        failed = send([(a, there.ctypes.data, there.dtype) for a, there in copies], self.ring, self.calls, self.threads)
        self.finish()
        assert self.inside == 0
        return failed


def arrays(sizes=SIZES):
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, size, np.uint8) for size in sizes]


@pytest.mark.parametrize("threads", [1, MOST_THREADS])
def test_arrays_arrive(threads):
    driver, given = Driver(threads), arrays()
    there = [np.zeros_like(a) for a in given]
    assert driver.send(*zip(given, there, strict=True)) == [False] * len(SIZES)
    np.testing.assert_array_equal(np.concatenate(there), np.concatenate(given))
    again = [a[::-1].copy() for a in given]  # the slots are in use from before
    driver.send(*zip(again, there, strict=True))
    np.testing.assert_array_equal(np.concatenate(there), np.concatenate(again))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_are_sent_narrow(dtype):
    rng = np.random.default_rng(1)
    given = [rng.integers(0, top, 3 * SLOT // 2 + 1).astype(dtype) for top in (256, 65536, 1 << 31)]
    there = [np.zeros(a.size, d) for a, d in zip(given, (U8, U16, dtype), strict=True)]
    driver = Driver()
    assert driver.send(*zip(given, there, strict=True)) == [False] * 3
    for a, b in zip(given, there, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(("narrow", "value"), [(U8, 256), (U8, -1), (U16, 65536), (U16, -1)])
def test_a_value_that_does_not_fit_is_reported(dtype, narrow, value):
    given = np.arange(2 * SLOT, dtype=dtype) % 256
    other = given.copy()
    given[-1] = value
    there = [np.zeros(given.size, narrow) for _ in range(2)]
    assert Driver().send((given, there[0]), (other, there[1])) == [True, False]
    np.testing.assert_array_equal(there[1], other)


@pytest.mark.parametrize("threads", [1, MOST_THREADS])
def test_arrays_return(threads):
    driver = Driver(threads)
    for there in arrays():
        found = np.zeros_like(there)
        receive(found, there.ctypes.data, driver.ring, driver.calls, threads)
        assert driver.inside == 0
        np.testing.assert_array_equal(found, there)


def test_an_error_of_a_transfer_is_raised():
    driver = Driver(error=719)
    array, there = np.zeros(9 * SLOT, np.uint8), np.zeros(9 * SLOT, np.uint8)
    with pytest.raises(RuntimeError, match="error 719"):
        driver.send((array, there))
    driver = Driver(error=719)
    with pytest.raises(RuntimeError, match="error 719"):
        receive(array, there.ctypes.data, driver.ring, driver.calls, driver.threads)
    assert driver.inside == 0


@pytest.mark.parametrize(
    ("values", "dtype", "narrow"),
    [
        ([0, 255], np.int32, np.uint8),
        ([0, 256], np.int64, np.uint16),
        ([65535], np.int32, np.uint16),
        ([65536], np.int32, np.int32),
        ([-1, 5], np.int64, np.int64),
        ([1, 2], np.uint16, np.uint16),
        ([1, 2], np.float64, np.float64),
        ([1, 0], np.bool_, np.bool_),
        ([], np.int32, np.int32),
    ],
)
def test_the_dtype_to_send_an_array_in(values, dtype, narrow):
    assert narrower(np.array(values, dtype)) == narrow


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int32, np.int64, np.float64])
def test_large_arrays_go_to_the_gpu_and_back(dtype):
    from gridcut.device.arrays import download, overwrite, upload_all

    rng = np.random.default_rng(1)
    given = [rng.integers(0, 2, size).astype(dtype) for size in (1, 5 << 22, (17 << 20) + 3, 0)]
    if dtype in (np.int32, np.int64):
        given[1][12345] = -7  # not in the sample that says how it is sent
        given.append(rng.integers(0, 60000, 1 << 20).astype(dtype))
    copies = upload_all(given)
    for array, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(download(copy)[: array.size], array)
    other = 1 - given[2].astype(np.int8)
    overwrite(copies[2], other.astype(dtype))
    np.testing.assert_array_equal(download(copies[2]), other.astype(dtype))
