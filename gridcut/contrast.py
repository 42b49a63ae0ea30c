"""Edge weights that decrease with image contrast: the usual contrast-sensitive Potts weights.

    w(p, q) = weight * exp(-beta * |I_p - I_q|^2) / dist(p, q),      beta = 1 / (2 <|I_p - I_q|^2>)

with the mean <> over all edges of the grid [1, 2], so that exp() separates noise from contrast for any range of the
image.  Two passes over the image, each fused over all offsets: the mean, then the weights.

Arrays (grids with fewer axes get leading axes of length 1, to have three axes A x B x W)
  image[a, b, w, c]   channels last
  shift[k]            offset of the k-th kind of edge, three integers
  out[k, a, b, w]     weight of the edge (p, p + shift[k]); 0 if it leaves the grid

exp() is read from two tables, because the library function takes longer than everything else together:
    exp(-x) = 2^-(n / 256) * exp(-r),   n = floor(256 x / ln 2),   0 <= r < ln 2 / 256,
and two terms of the series of exp(-r) leave a relative error below 4e-9.

[1] Boykov, Jolly. "Interactive graph cuts for optimal boundary & region segmentation of objects in N-D
    images." ICCV 2001.
[2] Rother, Kolmogorov, Blake. "GrabCut." ACM Transactions on Graphics 23(3), 2004, section 2.1."""

import math
import operator
from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gridcut.core.load import inside
from gridcut.core.problem import DTYPES, check_offset
from gridcut.device import plain_kernel, run_threads, thread_count
from gridcut.device.arguments import check_count, check_real, plain_array

# The usual neighbourhoods of pixels and voxels, as lists of offsets.

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


SHARED_VALUES = 1 << 18  # values of all channels from which the threads share the lines
FRACTIONS = 256
HALVINGS = 160  # a weight of float32 times 2^-160 or less rounds to 0
FRACTION = np.exp2(-np.arange(FRACTIONS) / FRACTIONS)
HALVING = np.append(np.exp2(-np.arange(HALVINGS - 1.0)), 0.0)


@plain_kernel
def mean_squared_distance_kernel(image, shift):
    """Mean of |I_p - I_q|^2 over all edges inside the grid; 0 without edges."""
    A, B, W, C = image.shape
    total = 0.0
    edges = 0
    for a in range(A):
        for b in range(B):
            for k in range(shift.shape[0]):
                da, db, dw = shift[k, 0], shift[k, 1], shift[k, 2]
                if 0 <= a + da < A and 0 <= b + db < B:
                    row_p, row_q = image[a, b], image[a + da, b + db]
                    row_total = 0.0
                    begin, end = inside(W, dw)
                    for w in range(begin, end):
                        for c in range(C):
                            step = np.float64(row_p[w, c]) - np.float64(row_q[w + dw, c])
                            row_total += step * step
                        edges += 1
                    total += row_total
    return total / edges if edges else 0.0


@plain_kernel
def weight_kernel(image, first_line, last_line, shift, peak, beta, fraction, halving, integral, out):
    """Write out[k, p] = peak[k] * exp(-beta * |I_p - I_q|^2), rounded if `integral`, for the lines a * B + b given."""
    A, B, W, C = image.shape
    scale = beta * FRACTIONS / math.log(2.0)
    last = float(FRACTIONS * HALVINGS - 1)
    unit = math.log(2.0) / FRACTIONS
    half = 0.5 if integral else 0.0
    for line in range(first_line, last_line):
        a, b = divmod(line, B)
        for k in range(shift.shape[0]):
            da, db, dw = shift[k, 0], shift[k, 1], shift[k, 2]
            if 0 <= a + da < A and 0 <= b + db < B:
                row_p, row_q, row = image[a, b], image[a + da, b + db], out[k, a, b]
                begin, end = inside(W, dw)
                for w in range(begin, end):
                    x = 0.0
                    for c in range(C):
                        # unsigned indices avoid the wrap-around test in the inner loop
                        value_p, value_q = row_p[np.uint64(w), np.uint64(c)], row_q[np.uint64(w + dw), np.uint64(c)]
                        step = np.float64(value_p) - np.float64(value_q)
                        x += step * step
                    x = scale * x if scale * x < last else last  # the last table entry is 0
                    n = np.uint64(x)
                    r = (x - float(n)) * unit
                    value = peak[k] * fraction[n & np.uint64(FRACTIONS - 1)] * halving[n // np.uint64(FRACTIONS)]
                    row[np.uint64(w)] = value * (1.0 - r + 0.5 * r * r) + half


def contrast_edges(
    image: ArrayLike,
    weight: float = 50.0,
    connectivity: int | Iterable[tuple[int, ...]] = 8,
    *,
    spacing: float | Iterable[float] | None = None,
    beta: float | str = "auto",
    channel_axis: int | None = None,
    dtype: DTypeLike = np.float32,
) -> dict[tuple[int, ...], np.ndarray]:
    """Compute contrast-sensitive edge weights of an image, for use as the `edges` of `max_flow`.

    The weights are ``w(p, q) = weight * exp(-beta * |I_p - I_q|**2) / dist(p, q)``, with the squared difference summed
    over the channels and the distance measured with `spacing` [1]_, [2]_.

    Parameters
    ----------
    image : array_like, the grid's shape, or one axis more for channels
        Grey, colour or any number of channels; integers, bool or floats, which are not rescaled (with
        ``beta="auto"`` the range does not matter).  `connectivity` determines the number of grid axes: an
        ``(H, W, 3)`` array is a colour image for 4 and 8, a volume for 6, 18 and 26.
    weight : float
        Weight of an edge of length 1 between equal pixels; finite and >= 0.
    connectivity : {4, 8, 6, 18, 26, 2} or offsets
        Number of neighbours of a pixel in 2-D (4, 8), 3-D (6, 18, 26) or 1-D (2), or the offsets themselves, one of
        each opposite pair, e.g. ``[(0, 1), (1, 0), (1, 2)]``.
    spacing : float or one float per grid axis, optional
        Size of a pixel along each axis, which determines the distances.  Default: 1.
    beta : "auto" or float
        Decrease of the weight with contrast, in 1 / (squared grey levels).  "auto" is ``1 / (2 * mean)``, with the
        mean of the squared differences over all edges, and 0 (plain Potts weights) for a constant image.
    channel_axis : int, optional
        Axis of the channels, if the image has one axis more than the grid.  Default: the last axis.
    dtype : dtype
        Type of the weights: float32, float64, or an integer type, for which weights are rounded to the nearest integer.

    Returns
    -------
    dict
        ``{offset: weights}``, one contiguous array of the grid's shape per pair of opposite offsets (undirected
        edges); 0 where ``p + offset`` leaves the grid.

    Raises
    ------
    TypeError
        If `image` is not numeric or is complex, or `dtype` is not a capacity type.
    ValueError
        If the number of axes does not match `connectivity`, the image contains NaN or infinity, a parameter is out of
        range, or a weight exceeds the maximum of `dtype`.

    See Also
    --------
    neighbourhood : The offsets of a connectivity.

    Notes
    -----
    Time O(pixels * offsets * channels).  No memory beyond the result, and a contiguous copy of the image if it is not
    contiguous.

    References
    ----------
    .. [1] Boykov, Jolly. "Interactive graph cuts for optimal boundary & region segmentation of objects in N-D
       images." ICCV 2001.
    .. [2] Rother, Kolmogorov, Blake. "GrabCut." ACM Transactions on Graphics 23(3), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> contrast_edges(np.array([[0, 0, 9]]), weight=10, connectivity=4, dtype=int)[(0, 1)]
    array([[10,  4,  0]])
    """
    offsets = _half_offsets(connectivity)
    pixels = _channels_last(image, len(offsets[0]), channel_axis)
    shape = pixels.shape[:-1]
    dtype = np.dtype(dtype)
    if dtype not in DTYPES:
        names = ", ".join(t.name for t in DTYPES)
        raise TypeError(f"dtype must be one of {names}, got {dtype}")
    if not 0 <= check_real("weight", weight) < math.inf:
        raise ValueError(f"weight must be finite and >= 0, got {weight}")

    steps = np.array(offsets, float) * _spacing(spacing, len(shape))
    peak = weight / np.sqrt((steps**2).sum(1))
    integral = dtype.kind in "iu"
    limit = np.iinfo(dtype).max if integral else np.finfo(dtype).max
    if peak.max() >= limit:
        raise ValueError(
            f"weight={weight} yields edge weights up to {peak.max():.6g}, above the maximum of {dtype} ({limit}); "
            "lower weight or use a wider dtype"
        )

    shift = np.array([(0,) * (3 - len(o)) + o for o in offsets], np.int64)
    stacked = pixels.reshape((1,) * (3 - len(shape)) + pixels.shape)
    if isinstance(beta, str):
        if beta != "auto":
            raise ValueError(f"beta must be 'auto' or a number, got {beta!r}")
        mean = mean_squared_distance_kernel(stacked, shift)
        if not math.isfinite(mean):
            raise ValueError("image: squared differences overflow; scale the image down")
        beta_value = 1.0 / (2.0 * mean) if mean > 0 else 0.0
    else:
        beta_value = check_real("beta", beta)
    if not (math.isfinite(beta_value) and beta_value >= 0):
        raise ValueError(f"beta must be finite and >= 0, got {beta}")

    out = np.zeros((len(offsets), *stacked.shape[:-1]), dtype)
    lines = stacked.shape[0] * stacked.shape[1]
    threads = max(1, min(thread_count(), lines)) if pixels.size >= SHARED_VALUES else 1

    def weigh(i):
        share = lines * i // threads, lines * (i + 1) // threads
        weight_kernel(stacked, *share, shift, peak, beta_value, FRACTION, HALVING, integral, out)

    run_threads(weigh, threads)
    return {offset: out[k].reshape(shape) for k, offset in enumerate(offsets)}


def _half_offsets(connectivity) -> list[tuple[int, ...]]:
    """One offset of each opposite pair."""
    if isinstance(connectivity, int | np.integer):
        if connectivity not in KINDS:
            known = ", ".join(map(str, KINDS))
            raise ValueError(f"connectivity must be one of {known} or a list of offsets, got {connectivity}")
        return neighbourhood(int(connectivity))
    if not isinstance(connectivity, Iterable) or isinstance(connectivity, str):
        raise TypeError(f"connectivity must be a number of neighbours or a list of offsets, got {connectivity!r:.60}")
    keys = list(connectivity)
    axes = len(keys[0]) if keys and isinstance(keys[0], tuple | list) else 0
    if not 1 <= axes <= 3:
        raise ValueError(f"connectivity: offsets must be tuples of 1, 2 or 3 integers, got {keys}")
    offsets = [check_offset(key, axes, "connectivity") for key in keys]
    for o in offsets:
        if offsets.count(o) > 1 or tuple(-i for i in o) in offsets:
            raise ValueError(f"connectivity contains the offset {o} twice, or its opposite; pass only one of the two")
    return offsets


def _channels_last(image, axes: int, channel_axis: int | None) -> np.ndarray:
    """The image as a contiguous array with the channels last; grey images get one channel."""
    pixels = plain_array("image", image)
    if channel_axis is not None:
        channel_axis = check_count("channel_axis", channel_axis, -pixels.ndim, pixels.ndim - 1)
    if pixels.dtype.kind not in "buif":
        raise TypeError(f"image must hold integers, floats or bool, got {pixels.dtype}")
    if pixels.ndim == axes and channel_axis is None:
        pixels = pixels[..., None]
    elif pixels.ndim == axes + 1:
        pixels = np.moveaxis(pixels, -1 if channel_axis is None else channel_axis, -1)
    else:
        required = f"{axes} axes (grey) or {axes + 1} (channels)" if channel_axis is None else f"{axes + 1} axes"
        raise ValueError(f"image must have {required} for this connectivity, got shape {pixels.shape}")
    if pixels.dtype.kind == "b":
        pixels = pixels.view(np.uint8)
    elif pixels.dtype == np.float16 or pixels.dtype.itemsize > 8:
        pixels = pixels.astype(np.float64)
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        raise ValueError("image contains NaN or infinity; every pixel must be finite")
    return np.require(pixels, pixels.dtype.newbyteorder("="), ["C", "A", "W"])


def _spacing(spacing, axes: int) -> np.ndarray:
    """One positive pixel size per axis."""
    if spacing is None:
        return np.ones(axes)
    sizes = plain_array("spacing", spacing)
    if sizes.dtype.kind not in "iuf":
        raise TypeError(f"spacing must be a number, or one per axis ({axes}); got {spacing!r:.60}")
    if sizes.shape not in ((), (1,), (axes,)):
        raise ValueError(f"spacing must be a number, or one per axis ({axes}); got {sizes.size} values")
    sizes = np.broadcast_to(sizes.astype(float), (axes,))
    if not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise ValueError(f"spacing must be positive and finite, got {spacing}")
    return sizes
