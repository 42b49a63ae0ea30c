"""A queue that the warps of a breadth-first search on a GPU append to, with one atomic addition per warp."""

from gridcut.device.cuda import ballot, count_trailing_zeros, cuda, device_function, popcount, shuffle
from gridcut.device.cuda_types import int32, int64


@device_function
def append(queue, tally, slot, end, found, cell):
    """Append the cells of the lanes with `found` to the queue after `end`; all lanes of the warp must call this."""
    bits = ballot(found)
    if bits != 0:
        lane = int32(cuda.laneid)
        leader = count_trailing_zeros(bits)
        at = int32(0)
        if lane == leader:
            at = int32(cuda.atomic.add(tally, slot, popcount(bits)))
        at = int32(shuffle(at, leader))
        if found:
            below = (int64(1) << int64(lane)) - int64(1)
            queue[end + at + popcount(int64(bits) & below)] = cell
