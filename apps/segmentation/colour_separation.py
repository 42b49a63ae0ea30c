"""Comparison of labellings that were found from different initial models.

The energy of apps.segmentation.segmentation contains the fit of two mixtures.  Fits of the same labelling differ with
the models they started from, often by more than the energies of two labellings.  The comparison therefore uses
histograms, whose best fit is unique.  With n_i pixels of the object in bin i, m_i of the background, and n, m their
sums,

    C(x) = sum_i ( -n_i log(n_i / n) - m_i log(m_i / m) )  +  sum_pq w_pq [x_p != x_q]

is the minimum of the energy over all pairs of histograms [1], without costs by location.  Labellings whose colours
overlap less, and whose outlines follow edges, have a smaller C [2].

[1] Vicente, Kolmogorov, Rother. "Joint optimization of segmentation and appearance models." ICCV 2009.
[2] Tang, Gorelick, Veksler, Boykov. "GrabCut in one cut." ICCV 2013.
"""

import numpy as np

from apps.segmentation.colour_models import Palette

BIN = 3.0  # Lab units: side of a bin


def colour_cost(palette: Palette, mask: np.ndarray) -> float:
    """The first sum of C for a mask, bool (H, W), in nats."""
    box = np.floor(palette.colour / BIN).astype(np.int64)
    box -= box.min(axis=0)
    width = box.max(axis=0) + 1
    entry_bin = (box[:, 0] * width[1] + box[:, 1]) * width[2] + box[:, 2]
    entry_bin = np.unique(entry_bin, return_inverse=True)[1]
    whole = np.bincount(entry_bin, palette.count)
    inside = np.bincount(entry_bin, palette.counts(mask))
    return _coded(inside) + _coded(whole - inside)


def _coded(count):
    """Total nats of pixels with these counts per bin, each coded by the frequency of its bin."""
    count = count[count > 0]
    return float(count @ np.log(count.sum() / count))
