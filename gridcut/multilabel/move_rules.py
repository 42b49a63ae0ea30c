"""The rules of one move at one pixel and one edge, written once for both devices; see moves.py."""

from gridcut.device import kernel


@kernel
def takes_part(label, first, second):
    """Whether a pixel has a choice."""
    return label != second if first < 0 else (label == first) | (label == second)


@kernel
def half_way(k, apart, out, back):
    """Capacity of arc k of an edge of weight 1, and of both its directions.

    apart, out, back   costs of the edge as it is, if the far end alone takes the new label, if this one alone does

    Half of what the labels cost now goes to each end, so that between equal labels both directions have the same.
    """
    both = out + back - apart
    half = apart // 2 if k % 2 == 0 else apart - apart // 2
    return min(max(out - half, 0), both), both
