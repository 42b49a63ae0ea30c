"""The rules of push-relabel at one pixel, written once for all variants and devices: scalars in and out.

Heights count arcs to the sink: 1 where a pixel has capacity to the sink left, `ceiling` where it is cut off
from the sink.  Symbols as in Łupińska, "Parallel implementation of flow and matching algorithms", section 4.
"""

from gridcut.device import kernel


@kernel
def push_amount(excess, residual):
    """delta = min{u_f(x, y), e(x)}."""
    return min(excess, residual)


@kernel
def is_admissible(height, neighbour):
    """Algorithm 4.3: flow goes down by exactly one."""
    return height == neighbour + 1


@kernel
def goes_down(height, lowest):
    """Algorithm 4.5: flow goes to the lowest neighbour, however much lower it is."""
    return height > lowest


@kernel
def lifted(lowest, ceiling):
    """The height of a pixel that cannot push: one above its lowest residual neighbour."""
    return min(lowest + 1, ceiling)
