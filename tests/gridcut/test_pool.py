"""The memory pool and kernel launches: the parts that can be tested without a GPU."""

import gc

import pytest

from gridcut.device.pool import MAX_PIECES, Pool, size_class

MB = 1 << 20


class Driver:
    """Allocates pieces while there is room, and records their sizes."""

    def __init__(self, room):
        self.room = room
        self.allocated = []

    def __call__(self, size):
        if size > self.room:
            raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")
        self.allocated.append(size)
        self.room -= size
        return Piece(size)

    def free(self, piece):
        assert not piece.freed
        piece.freed = True
        self.room += piece.size


class Piece:
    def __init__(self, size):
        self.size, self.freed = size, False


def synchronised(pool):
    pool.reuse(pool.returned())


def test_sizes_are_rounded_up_by_at_most_a_32nd():
    for size in (1, 4096, 4097, 100_000, MB, MB + 1, 15 * MB + 7, 10**12 + 1):
        rounded = size_class(size)
        assert size <= rounded <= max(size + 4096, size * 33 / 32)
        assert size_class(rounded) == rounded


def test_a_piece_is_reused_after_synchronisation():
    driver = Driver(100 * MB)
    pool = Pool(driver, driver.free, 10 * MB)
    size, piece = pool.take(MB)
    pool.put_back(size, piece)
    assert pool.held() == MB
    assert pool.take(MB)[1] is not piece  # another library may still be reading it
    synchronised(pool)
    assert pool.take(MB - 100)[1] is piece
    assert len(driver.allocated) == 2
    assert pool.held() == 0


def test_pool_stays_within_its_capacity():
    driver = Driver(100 * MB)
    pool = Pool(driver, driver.free, 10 * MB)
    pool.put_back(*pool.take(20 * MB))
    assert pool.held() == 0
    assert driver.room == 100 * MB
    pieces = [pool.take((i + 1) * MB) for i in range(6)]
    while pieces:
        pool.put_back(*pieces.pop())
    assert pool.held() <= 10 * MB
    synchronised(pool)
    small = [pool.take(5000 + i) for i in range(2 * MAX_PIECES)]
    while small:
        pool.put_back(*small.pop())
    synchronised(pool)
    assert pool.held() <= 10 * MB
    assert len(pool.returned()) == 0


def test_pool_is_freed_before_out_of_memory():
    driver = Driver(10 * MB)
    pool = Pool(driver, driver.free, 100 * MB)
    pool.put_back(*pool.take(6 * MB))
    _, piece = pool.take(9 * MB + 1)
    assert piece.size == 9 * MB + 1
    with pytest.raises(RuntimeError, match="OUT_OF_MEMORY"):
        pool.take(2 * MB)
    assert driver.room == 10 * MB - piece.size
    assert not piece.freed


def test_cyclic_garbage_returns_its_buffer_to_the_pool():
    """The collector finalises a cycle together; a piece that freed itself would be put back freed."""
    driver = Driver(10 * MB)
    pool = Pool(driver, driver.free, 10 * MB)

    class Slab:
        def __init__(self):
            self.taken = pool.take(MB)
            self.me = self

        def __del__(self):
            pool.put_back(*self.taken)

    Slab()
    gc.collect()
    assert [piece.freed for _, piece in pool.returned()] == [False]
