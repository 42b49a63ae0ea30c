"""The usual neighbourhoods of pixels and voxels, as lists of offsets."""

import operator
from itertools import product

# number of neighbours -> (axes, maximum number of nonzero entries of an offset)
KINDS = {2: (1, 1), 4: (2, 1), 8: (2, 2), 6: (3, 1), 18: (3, 2), 26: (3, 3)}


def neighbourhood(neighbours: int, *, both: bool = False) -> list[tuple[int, ...]]:
    """List the offsets of a neighbourhood, one of each opposite pair: the keys of `edges` for undirected capacities.

        4: (0, 1) (1, 0)                  8: also (1, -1) (1, 1)

    Parameters
    ----------
    neighbours : {2, 4, 8, 6, 18, 26}
        2 on a line, 4 or 8 in an image, 6, 18 or 26 in a volume.
    both : bool
        If True, each offset is followed by its opposite, as needed for directed capacities.

    Returns
    -------
    list of tuple of int
        Sorted by distance.  Without `both`, every offset points to a later position in memory.

    Raises
    ------
    TypeError
        If `neighbours` is not an integer.
    ValueError
        If `neighbours` is not one of the numbers above.

    Examples
    --------
    >>> neighbourhood(4)
    [(0, 1), (1, 0)]
    >>> right, down = 3, 5
    >>> dict(zip(neighbourhood(4), (right, down)))
    {(0, 1): 3, (1, 0): 5}
    """
    try:
        operator.index(neighbours)
    except TypeError:
        raise TypeError(f"neighbours must be an integer, got {neighbours!r:.60}") from None
    if neighbours not in KINDS:
        known = ", ".join(map(str, KINDS))
        raise ValueError(f"neighbours must be one of {known}, got {neighbours!r}")
    axes, diagonal = KINDS[neighbours]
    zero = (0,) * axes
    steps = (o for o in product((-1, 0, 1), repeat=axes) if o > zero and sum(map(abs, o)) <= diagonal)
    forward = sorted(steps, key=lambda o: (sum(map(abs, o)), o))
    if not both:
        return forward
    return [o for f in forward for o in (f, tuple(-i for i in f))]
