"""Copies through pinned memory: the pieces and their order without a GPU, and whole copies on one."""

import numpy as np
import pytest

from gridcut.device.staging import BUFFERS, PIECE, PINNED_BYTES, copy_in, copy_out

SIZES = [1, PIECE - 1, PIECE, 3 * PIECE + 5, 0, 7 * PIECE]


class Transfer:
    """A transfer that reads its source only when it is waited for, as late as a GPU may."""

    def __init__(self, target, source):
        self.arrays = target, source

    def wait(self):
        target, source = self.arrays
        target[:] = source


def arrays(sizes=SIZES):
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, size, np.uint8) for size in sizes]


def places(sizes=SIZES):
    """Addresses one after the other."""
    return np.cumsum([0, *sizes])[:-1].tolist()


def test_arrays_arrive():
    given, there = arrays(), np.zeros(sum(SIZES), np.uint8)
    pinned = np.empty(PINNED_BYTES, np.uint8)
    copies = list(zip(given, places(), strict=True))
    copy_in(copies, pinned, lambda address, buffer: Transfer(there[address : address + buffer.size], buffer))
    np.testing.assert_array_equal(there, np.concatenate(given))


def test_arrays_return():
    there, found = np.concatenate(arrays()), [np.zeros(size, np.uint8) for size in SIZES]
    pinned = np.empty(PINNED_BYTES, np.uint8)
    copies = list(zip(found, places(), strict=True))
    copy_out(copies, pinned, lambda buffer, address: Transfer(buffer, there[address : address + buffer.size]))
    np.testing.assert_array_equal(np.concatenate(found), there)


def test_an_error_of_a_transfer_is_raised():
    def start(address, buffer):
        raise RuntimeError("the GPU reports something")

    with pytest.raises(RuntimeError, match="reports something"):
        copy_in([(np.zeros(5 * PIECE, np.uint8), 0)], np.empty(PINNED_BYTES, np.uint8), start)


def test_no_more_transfers_are_pending_than_buffers():
    pending, most = 0, 0

    class Counted:
        def wait(self):
            nonlocal pending
            pending -= 1

    def start(address, buffer):
        nonlocal pending, most
        pending += 1
        most = max(most, pending)
        return Counted()

    copy_in([(np.zeros(20 * PIECE, np.uint8), 0)], np.empty(PINNED_BYTES, np.uint8), start)
    assert (most, pending) == (BUFFERS, 0)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int32, np.float64])
def test_large_arrays_go_to_the_gpu_and_back(dtype):
    from gridcut.device.arrays import download, overwrite, upload_all

    rng = np.random.default_rng(1)
    given = [rng.integers(0, 2, size).astype(dtype) for size in (1, 5 << 22, (17 << 20) + 3, 0)]
    copies = upload_all(given)
    for array, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(download(copy)[: array.size], array)
    other = 1 - given[2].astype(np.int8)
    overwrite(copies[2], other.astype(dtype))
    np.testing.assert_array_equal(download(copies[2]), other.astype(dtype))
