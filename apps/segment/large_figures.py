"""The figures of a large image as PNG files, computed and deflated block by block (see apps.common.png_blocks).

They equal those of apps.common.figures and apps.segment.matte.
"""

import numpy as np

from apps.common.figures import line_width, overlay, strokes_figure
from apps.common.image_metadata import Metadata
from apps.common.images import as_floats, to_bytes
from apps.common.png_blocks import Figure, encoded_figures
from apps.common.row_blocks import bounds, for_blocks, in_parallel
from apps.segment.matte import REACH, cut_out, near_outline

MATTE_TILE = 128  # pixels: side of the parts that are searched for outline


def figure_files(kinds, rgb: np.ndarray, mask: np.ndarray, marks: np.ndarray, metadata: Metadata) -> dict[str, bytes]:
    """Contents of the files of some kinds: "mask", "overlay", "cutout" and "strokes".

    rgb     (H, W, 3), float32 in [0, 1] or uint8
    mask    bool (H, W);  marks: int8 (H, W) of apps.segment.strokes
    """
    cut = large_cut_out(rgb, mask) if "cutout" in kinds else None
    rows = {
        "mask": lambda first, last: mask[first:last].view(np.uint8) * np.uint8(255),
        "overlay": lambda first, last: _overlay_rows(rgb, mask, first, last),
        "cutout": lambda first, last: cut[first:last],
        "strokes": lambda first, last: strokes_figure(as_floats(rgb[first:last]), marks[first:last]),
    }
    chosen = [kind for kind in rows if kind in kinds]
    figures = [
        Figure(rows[kind], mask.shape, metadata.without_profile() if kind == "mask" else metadata) for kind in chosen
    ]
    return dict(zip(chosen, encoded_figures(figures), strict=True))


def _overlay_rows(rgb, mask, first, last):
    """Rows of the overlay."""
    width = line_width(mask.shape)
    top, bottom = max(0, first - width), min(len(mask), last + width)
    return overlay(as_floats(rgb[top:bottom]), mask[top:bottom], width)[first - top : last - top]


def large_cut_out(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The result of apps.segment.matte.cut_out for `rgb` as in `figure_files`, computed in parts along the outline."""
    import cv2

    out = np.zeros((*mask.shape, 4), np.uint8)

    def fill(first, last):
        colours = cv2.cvtColor(to_bytes(rgb[first:last]), cv2.COLOR_RGB2RGBA)
        cv2.copyTo(colours, mask[first:last].view(np.uint8), out[first:last])

    def soften(top, left):
        tile = slice(top, min(H, top + MATTE_TILE)), slice(left, min(W, left + MATTE_TILE))
        around = mask[_wider(tile, mask.shape)]
        if around.all() or not around.any():
            return
        band = near_outline(around)
        inner = tuple(slice(t.start - w.start, t.stop - w.start) for t, w in zip(tile, _wider(tile, mask.shape)))
        box = bounds(band[inner])
        if box is not None:
            part = tuple(slice(t.start + b.start, t.start + b.stop) for t, b in zip(tile, box))
            wide = _wider(part, mask.shape)
            figure = cut_out(as_floats(rgb[wide]), mask[wide])
            out[part] = figure[tuple(slice(p.start - w.start, p.stop - w.start) for p, w in zip(part, wide))]

    H, W = mask.shape
    for_blocks(fill, mask.shape)
    corners = [(top, left) for top in range(0, H, MATTE_TILE) for left in range(0, W, MATTE_TILE)]
    in_parallel([lambda corner=corner: soften(*corner) for corner in corners])
    return out


def _wider(part, shape):
    """A part of the image with REACH pixels more on every side."""
    return tuple(slice(max(0, p.start - REACH), min(size, p.stop + REACH)) for p, size in zip(part, shape))
