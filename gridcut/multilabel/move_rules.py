"""The rules of one move at one pixel and one edge, shared by CPU and GPU; see gridcut/multilabel/moves.py."""

from gridcut.device import plain_kernel


@plain_kernel
def has_choice(label, first, second):
    """Whether a pixel with this label can choose between two labels in the move."""
    return label != second if first < 0 else (label == first) | (label == second)


@plain_kernel
def split_capacity(k, current, out, back):
    """Capacity of arc k of an edge of weight 1, and the sum of the capacities of both directions.

    current   cost of the edge with the present labels
    out       its cost if only the far end takes the new label
    back      its cost if only this end does

    Each end gets half of `current`, so that between equal labels both directions have the same capacity.
    """
    both = out + back - current
    half = current // 2 if k % 2 == 0 else current - current // 2
    return min(max(out - half, 0), both), both
