"""The rules of push-relabel at one pixel (gridcut/core/push_relabel_steps.py), compiled for CUDA kernels."""

from gridcut.core import push_relabel_steps as rules
from gridcut.device.cuda import ballot, count_trailing_zeros, cuda, device_function, popcount, shuffle
from gridcut.device.cuda_types import int32, int64


def _for_kernels(rule):
    """The same Python function, compiled for the GPU; with NUMBA_DISABLE_JIT=1 it is not wrapped by numba."""
    return device_function(getattr(rule, "py_func", rule))


push_amount = _for_kernels(rules.push_amount)
is_admissible = _for_kernels(rules.is_admissible)
goes_down = _for_kernels(rules.goes_down)
lifted = _for_kernels(rules.lifted)


# A queue that the warps of a breadth-first search on a GPU append to, with one atomic addition per warp.


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
