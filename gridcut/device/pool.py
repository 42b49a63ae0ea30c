"""Memory that is kept for the next solve; knows nothing of GPUs.

Asking a driver for memory and giving it back takes about as long as loading a small picture.  So memory
that nobody uses any more is kept, and given back when there is no room: at most so many bytes for pieces that may be
used again, and as many for pieces that have come back since.

Other libraries may still read labels that their owner has let go, on a stream we know nothing about.  So pieces that
have come back are used again only after the whole GPU has been waited for, with which every solve begins:
`returned` before, `reuse` after.
"""

import threading
from collections import deque

MAX_PIECES = 64
MIN_PIECE_BYTES = 4096  # bytes


class Pool:
    """Pieces of memory by size: `ask(size)` gets one from the driver, `drop(piece)` gives it back.

    A piece must not free itself: the garbage collector finalises all that it finds together, the piece and whoever
    is just about to hand it in here.
    """

    def __init__(self, allocate, free, capacity: int):
        self._allocate = allocate
        self._free_memory = free
        self._capacity = capacity  # bytes
        self._lock = threading.Lock()
        self._available = []  # (size, piece), oldest first
        # Pieces come back whenever the garbage collector runs, in the middle of anything here too: no lock for these.
        self._returned = deque()

    def take(self, size: int):
        """A piece and its size, which is at least this."""
        rounded = size_class(size)
        with self._lock:
            for i in reversed(range(len(self._available))):
                if self._available[i][0] == rounded:
                    return self._available.pop(i)
        if rounded > self._capacity:
            rounded = size  # will not be kept
        try:
            return rounded, self._allocate(rounded)
        except Exception as error:
            if "OUT_OF_MEMORY" not in str(error):
                raise
        self.empty()
        return size, self._allocate(size)

    def put_back(self, size: int, piece) -> None:
        """Keep a piece, or drop it where that would be too much."""
        if size + _bytes(self._returned) <= self._capacity and size == size_class(size):
            self._returned.append((size, piece))
        else:
            self._free_memory(piece)

    def returned(self) -> list:
        """What has come back since the last call; only the caller knows of it now."""
        found = []
        while self._returned:
            try:
                found.append(self._returned.popleft())
            except IndexError:  # another thread was faster
                break
        return found

    def reuse(self, found: list) -> None:
        """Let pieces from `returned` be taken again; the oldest are dropped if there are too many."""
        with self._lock:
            self._available += found
            while len(self._available) > MAX_PIECES or _bytes(self._available) > self._capacity:
                self._free_memory(self._available.pop(0)[1])

    def held(self) -> int:
        """Bytes that are kept."""
        return _bytes(self._available) + _bytes(self._returned)

    def empty(self) -> None:
        """Give everything back to the driver."""
        with self._lock:
            free, self._available = self._available, []
        for _, piece in free + self.returned():
            self._free_memory(piece)


def _bytes(pieces) -> int:
    return sum(size for size, _ in list(pieces))


def size_class(size: int) -> int:
    """Sizes are rounded up to few, by a 32nd or SMALLEST at most."""
    step = max(MIN_PIECE_BYTES, 1 << max(size.bit_length() - 6, 0))
    return -(-size // step) * step
