"""Cut an object out of a photograph in one page: a recipe to read first, and to paste into another program.

`apps.segment` does the same, and more: distances along edges, boxes, masks, large images, dots for strokes.  Here is
what all of it rests on.  The object x (True) minimises

    E(x) = sum_p -log p(colour_p | x_p)  +  sum_pq w_pq [x_p != x_q],

where the colours of both sides are histograms, and the weights w_pq of neighbours are small across an edge of the
image.  For given histograms, one minimum cut finds the x of least E, exactly.  Strokes are obeyed.  The histograms are
first those of the strokes, then those of the last x, again and again, until the labels stay: this is GrabCut [1],
started from strokes [2].

    image = skimage.data.astronaut()                 # uint8, (H, W, 3), RGB
    strokes = np.zeros(image.shape[:2], np.uint8)    # 1 on the object, 2 on the background, 0 elsewhere
    strokes[200:300, 200:250], strokes[20:60, 20:500] = 1, 2
    mask = plain_segment(image, strokes)

[1] Rother, Kolmogorov, Blake. "GrabCut." ACM Transactions on Graphics 23(3), 2004.
[2] Boykov, Jolly. "Interactive graph cuts." ICCV 2001.
"""

import cv2
import numpy as np
from scipy import ndimage

import gridcut

OBJECT, BACKGROUND = 1, 2  # strokes
UNIT = 256  # costs are integers, in 1 / UNIT of a nat
SMOOTHNESS = 20.0  # nats of an edge between two equal colours
CONTRAST = 0.7  # an edge weighs exp(-CONTRAST) where the colours differ as much as they do on average
FORBIDDEN = 1 << 20  # more than all edges of a pixel together, so a stroke is obeyed
BINS = 32  # of each channel of CIELAB in a histogram
BLUR = 1.0  # bins
UNSEEN = 0.01  # share of a colour of the whole image in each histogram: no colour is impossible
ROUNDS = 10
CHANGED = 0.001  # share of the pixels; the labels stay if fewer change


def plain_segment(image: np.ndarray, strokes: np.ndarray) -> np.ndarray:
    """Cut an object out of an image, by strokes on it and on the background.

    Parameters
    ----------
    image : ndarray of uint8, shape (H, W, 3)
        RGB.
    strokes : ndarray of int, shape (H, W)
        1 on the object, 2 on the background, 0 elsewhere; both occur.

    Returns
    -------
    ndarray of bool, shape (H, W)
        True on the object.
    """
    lab = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    colour = bins_of(lab)
    edges = weights_of(lab)
    inside, outside = strokes == OBJECT, strokes == BACKGROUND
    mask = inside
    for round_number in range(ROUNDS):
        known = inside | outside if round_number == 0 else np.ones_like(inside)
        # A stroke counts as much as all pixels of its side together, so that no side loses its colours.
        as_object = cost_of(colour, mask & known, inside)
        as_background = cost_of(colour, ~mask & known, outside)
        as_object[outside] = as_background[inside] = FORBIDDEN
        as_object[inside] = as_background[outside] = 0
        cut = gridcut.max_flow(as_background, as_object, edges)  # a pixel that is cut from the source pays the first
        last, mask = mask, touching(cut.labels, inside)
        if round_number and np.mean(mask != last) <= CHANGED:
            break
    return mask


def weights_of(lab: np.ndarray) -> dict:
    """The weights of the edges to the 8 neighbours, one array of the image's size for each pair of directions."""
    steps = [np.diff(lab, axis=axis) for axis in (0, 1)]
    mean = np.mean([np.mean(np.sum(step**2, axis=2)) for step in steps])
    return gridcut.contrast_edges(lab, SMOOTHNESS * UNIT, 8, beta=CONTRAST / max(mean, 1e-6), dtype=np.int32)


def bins_of(lab: np.ndarray) -> np.ndarray:
    """The bin of each pixel's colour, (H, W), from 0 to BINS**3 - 1."""
    scaled = (lab + np.array([0, 128, 128])) * np.array([BINS / 100, BINS / 256, BINS / 256])
    return np.clip(scaled.astype(int), 0, BINS - 1) @ (BINS**2, BINS, 1)


def cost_of(colour: np.ndarray, side: np.ndarray, stroke: np.ndarray) -> np.ndarray:
    """-log of the probability of each pixel's colour on a side of the cut, in 1 / UNIT nats; int32 (H, W)."""
    whole, labelled, drawn = (histogram(colour[part]) for part in (np.ones_like(side), side, stroke))
    density = (1 - UNSEEN) * (labelled + drawn) / 2 + UNSEEN * whole
    return np.rint(-UNIT * np.log(density)[colour]).astype(np.int32)


def histogram(colours: np.ndarray) -> np.ndarray:
    """Shares of the bins, which are blurred: a few pixels tell of similar colours, too."""
    count = np.bincount(colours, minlength=BINS**3).reshape(BINS, BINS, BINS).astype(float)
    count = ndimage.gaussian_filter(count, BLUR).ravel() + 1e-9
    return count / count.sum()


def touching(mask: np.ndarray, stroke: np.ndarray) -> np.ndarray:
    """The connected parts of a mask that touch a stroke: a part that is wanted would have been marked."""
    part, _ = ndimage.label(mask, np.ones((3, 3)))
    return mask & np.isin(part, np.unique(part[stroke & mask]))
