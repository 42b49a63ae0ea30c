"""Figures of a flow: the Middlebury colour wheel, arrows, and the error.

The wheel is that of Baker et al. [1]: hue encodes the direction, saturation the length relative to the maximum.
Vectors above the maximum are dimmed, and unknown pixels are black.

[1] Baker et al. "A database and evaluation methodology for optical flow." IJCV 92(1), 2011.
"""

import cv2
import numpy as np

from apps.common.figures import (
    SUBPIXEL_BITS,
    caption,
    draw_circles,
    draw_lines,
    drawn_at,
    enlarged,
    in_corner,
    letter_height,
    line_width,
    mixed,
    stacked,
    with_scale,
    zoom_of,
)
from apps.common.images import to_bytes

# Steps from each hue to the next: red, yellow, green, cyan, blue, magenta.
HUE_STEPS = (15, 6, 4, 11, 13, 6)
MAX_ARROWS = 28  # along the longer side of the frame, approximately
MAX_FACTOR = 50  # of the length of arrows
UNSURE = 150  # grey level of arrows


def colour_wheel() -> np.ndarray:
    """Return the 55 colours of the wheel, float64 (55, 3), integers from 0 to 255."""
    wheel = np.zeros((sum(HUE_STEPS), 3))
    # Starting at red, channels alternately increase and decrease.
    arcs = ((0, 1, True), (1, 0, False), (1, 2, True), (2, 1, False), (2, 0, True), (0, 2, False))
    row = 0
    for steps, (full, changing, rises) in zip(HUE_STEPS, arcs, strict=True):
        ramp = np.floor(255 * np.arange(steps) / steps)
        wheel[row : row + steps, full] = 255
        wheel[row : row + steps, changing] = ramp if rises else 255 - ramp
        row += steps
    return wheel


def flow_figure(flow: np.ndarray, valid: np.ndarray | None = None, max_motion: float | None = None) -> np.ndarray:
    """Draw a flow (H, W, 2) in the colours of the wheel, uint8 RGB (H, W, 3).

    `max_motion` is the length in pixels drawn at full saturation, by default the longest vector.  Use the same value
    for all frames of a video to keep their colours comparable.  Pixels outside `valid` are black.
    """
    u, v = (flow[..., i].astype(np.float64) for i in (0, 1))
    known = np.isfinite(u) & np.isfinite(v)
    known = known if valid is None else known & valid
    u, v = np.where(known, u, 0), np.where(known, v, 0)
    radius = np.hypot(u, v)
    max_motion = float(radius.max(initial=0)) if max_motion is None else float(max_motion)
    scale = 1 / (max_motion + 1e-5)
    radius *= scale
    wheel = colour_wheel() / 255
    position = (np.arctan2(-v * scale, -u * scale) / np.pi + 1) / 2 * (len(wheel) - 1)
    low = np.floor(position).astype(np.int64)
    high = np.where(low + 1 == len(wheel), 0, low + 1)
    share = (position - low)[..., None]
    colour = (1 - share) * wheel[low] + share * wheel[high]
    radius = radius[..., None]
    colour = np.where(radius <= 1, 1 - radius * (1 - colour), 0.75 * colour)
    figure = np.floor(255 * colour).astype(np.uint8)
    figure[~known] = 0
    return figure


def key_figure(side: int = 121) -> np.ndarray:
    """Draw the key of `flow_figure`, uint8 RGB (side, side, 3): each motion in its colour, at its end from the centre.

    The rim of the disc stands for `max_motion`; outside the disc the figure is white.
    """
    radius = (side - 1) / 2
    y, x = np.mgrid[:side, :side] - radius
    motion = np.dstack([x, y])
    figure = flow_figure(motion, max_motion=radius)
    figure[np.hypot(x, y) > radius] = 255
    return figure


def keyed_figure(flow: np.ndarray, max_motion: float) -> np.ndarray:
    """The colours of a flow, enlarged if it is small, with the key and the motion of its rim in a corner; uint8 RGB."""
    figure = flow_figure(flow, max_motion=max_motion)
    figure = enlarged(figure, zoom_of(figure.shape))
    words = caption(f"{max_motion:.3g} px", letter_height(figure.shape))
    side = max(min(figure.shape[:2]) // 5, words.shape[1] - len(words)) | 1
    return in_corner(figure, stacked(key_figure(side), words), right=True)


def arrows(
    rgb: np.ndarray, flow: np.ndarray, valid: np.ndarray | None = None, max_motion: float | None = None
) -> np.ndarray:
    """Draw the flow as arrows over the frame, RGB in [0, 1], which is enlarged if it is small; uint8 RGB.

    valid        bool (H, W): other arrows are grey; those have the colours of the wheel
    max_motion   of `flow_figure`, by default that of the longest arrow

    If the motion is short, arrows are drawn several times as long, as a note in the figure states.
    """
    spacing, zoom = max(1, round(max(flow.shape) / MAX_ARROWS)), zoom_of(flow.shape)
    starts = slice(spacing // 2, None, spacing)
    motion = flow[starts, starts].reshape(-1, 2)
    length = np.linalg.norm(motion, axis=1)
    typical = float(np.percentile(length, 95)) if length.size else 0.0
    factor = int(np.clip(spacing / typical, 1, MAX_FACTOR)) if typical > 0 else 1
    figure = enlarged(mixed(to_bytes(rgb), 0.5, 0.45), zoom)
    colours = flow_figure(motion[None], max_motion=max_motion)[0]
    if valid is not None:
        colours[~valid[starts, starts].ravel()] = UNSURE
    y, x = np.mgrid[starts.start : flow.shape[0] : spacing, starts.start : flow.shape[1] : spacing]
    place = np.stack([x.ravel(), y.ravel()], axis=1)
    start, end = drawn_at(place, zoom), drawn_at(place + factor * motion, zoom)
    thin, length = line_width(figure.shape), zoom * factor * length
    is_short = length < 6 * thin  # a head and an outline would hide it
    draw_circles(figure, start[is_short], colours[is_short], thin)
    draw_lines(figure, start[is_short], end[is_short], colours[is_short], thin)
    for k in np.flatnonzero(~is_short):
        ends, tip = (start[k].tolist(), end[k].tolist()), min(0.4, zoom * spacing / 3 / length[k])
        for paint, thick in (((0, 0, 0), 3 * thin), (colours[k].tolist(), thin)):  # visible on any background
            cv2.arrowedLine(figure, *ends, paint, thick, cv2.LINE_AA, SUBPIXEL_BITS, tip)
    return figure if factor == 1 else in_corner(figure, caption(f"arrows x {factor}", letter_height(figure.shape)))


def error_figure(flow: np.ndarray, truth: np.ndarray, valid: np.ndarray | None = None):
    """Draw the end-point error in colours, uint8 RGB, above a scale bar; unknown pixels are grey.

    The scale ends at the 99th percentile of the error, and at 1 pixel or above.
    """
    error = np.linalg.norm(flow.astype(np.float64) - truth, axis=2)
    known = np.isfinite(error) if valid is None else valid & np.isfinite(error)
    max_error = max(1.0, float(np.percentile(error[known], 99))) if known.any() else 1.0
    return with_scale(np.where(known, error, 0), 0, max_error, cv2.COLORMAP_INFERNO, known)
