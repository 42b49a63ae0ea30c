"""The figures of a large image as PNG files, computed and deflated block by block (see apps.common.png_blocks).

They equal those of apps.common.figures and apps.segment.matte.
"""

from functools import partial

import numpy as np

from apps.common.figures import line_width, overlay, stroke_width, strokes_figure
from apps.common.image_metadata import Metadata
from apps.common.images import as_floats, to_bytes
from apps.common.png_blocks import Figure, encoded_figures
from apps.common.rectangles import absolute, bounds, relative, tiles_of, widened
from apps.common.row_blocks import for_blocks, in_parallel
from apps.segment.matte import REACH, cut_out, near_outline

MATTE_TILE = 128  # pixels: side of the parts that are searched for outline


def figure_files(
    kinds, rgb: np.ndarray, mask: np.ndarray, marks: np.ndarray | None, metadata: Metadata
) -> dict[str, bytes]:
    """Contents of the files of some kinds: "mask", "overlay", "cutout" and "strokes".

    rgb     (H, W, 3), float32 in [0, 1] or uint8
    mask    bool (H, W);  marks: int8 (H, W) of apps.segment.marks, or None without "strokes"
    """
    cut = large_cut_out(rgb, mask) if "cutout" in kinds else None

    def lines_of(draw, plane: np.ndarray | None, width_of):
        """Rows of a figure in which a pixel depends on those within width_of(shape) rows."""

        def rows(first, last):
            width = width_of(plane.shape)
            top, bottom = max(0, first - width), min(len(plane), last + width)
            return draw(rgb[top:bottom], plane[top:bottom], width)[first - top : last - top]

        return rows

    rows = {
        "mask": lambda first, last: mask[first:last].view(np.uint8) * np.uint8(255),
        "overlay": lines_of(overlay, mask, line_width),
        "cutout": lambda first, last: cut[first:last],
        "strokes": lines_of(strokes_figure, marks, stroke_width),
    }
    chosen = [kind for kind in rows if kind in kinds]
    figures = [
        Figure(rows[kind], mask.shape, metadata.without_profile() if kind == "mask" else metadata) for kind in chosen
    ]
    return dict(zip(chosen, encoded_figures(figures), strict=True))


def large_cut_out(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The result of apps.segment.matte.cut_out for `rgb` as in `figure_files`, computed in parts along the outline."""
    import cv2

    out = np.zeros((*mask.shape, 4), np.uint8)

    def fill(first, last):
        colours = cv2.cvtColor(to_bytes(rgb[first:last]), cv2.COLOR_RGB2RGBA)
        cv2.copyTo(colours, mask[first:last].view(np.uint8), out[first:last])

    def soften(tile):
        around = widened(tile, REACH, mask.shape)
        part = mask[around]
        if part.all() or not part.any():
            return
        box = bounds(near_outline(part)[relative(tile, around)])
        if box is not None:
            box = absolute(box, tile)
            wide = widened(box, REACH, mask.shape)
            out[box] = cut_out(as_floats(rgb[wide]), mask[wide])[relative(box, wide)]

    for_blocks(fill, mask.shape)
    in_parallel([partial(soften, tile) for tile in tiles_of(mask.shape, MATTE_TILE)])
    return out
