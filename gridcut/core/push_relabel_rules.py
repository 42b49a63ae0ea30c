"""The rules of push-relabel at one pixel, shared by all variants and devices: scalars in and out.

Heights count arcs to the sink: 1 at a pixel with remaining capacity to the sink, `ceiling` at a pixel that is
disconnected from the sink.  Symbols as in Łupińska, "Parallel implementation of flow and matching algorithms", 2011,
section 4.
"""

from gridcut.device import kernel


@kernel
def push_amount(excess, residual):
    """delta = min{u_f(x, y), e(x)}."""
    return min(excess, residual)


@kernel
def is_admissible(height, neighbour):
    """Algorithm 4.3: a push goes to a neighbour lower by exactly one."""
    return height == neighbour + 1


@kernel
def goes_down(height, lowest):
    """Algorithm 4.5: a push goes to the lowest neighbour, however much lower it is."""
    return height > lowest


@kernel
def lifted(lowest, ceiling):
    """The height of a pixel that cannot push: one above its lowest residual neighbour."""
    return min(lowest + 1, ceiling)
