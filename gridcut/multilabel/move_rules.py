"""The rules of one move at one pixel and one edge, written once for both devices; see moves.py."""

from gridcut.device import kernel


@kernel
def has_choice(label, first, second):
    """Whether a pixel has a choice."""
    return label != second if first < 0 else (label == first) | (label == second)


@kernel
def split_capacity(k, current, out, back):
    """Capacity of arc k of an edge of weight 1, and of both its directions.

    apart, out, back   costs of the edge as it is, if the far end alone takes the new label, if this one alone does

    Half of what the labels cost now goes to each end, so that between equal labels both directions have the same.
    """
    both = out + back - current
    half = current // 2 if k % 2 == 0 else current - current // 2
    return min(max(out - half, 0), both), both
