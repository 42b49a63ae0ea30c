"""Figures of a flow: the Middlebury colour wheel, arrows, the warped second frame, and the error with a scale bar.

The wheel is that of Baker et al. [1]: hue encodes the direction, saturation the length relative to the maximum.
Vectors above the maximum are dimmed, and unknown pixels are black.

[1] Baker et al. "A database and evaluation methodology for optical flow." IJCV 92(1), 2011.
"""

import numpy as np

from apps.common.figures import with_scale
from apps.common.images import to_bytes

# Steps from each hue to the next: red, yellow, green, cyan, blue, magenta.
HUE_STEPS = (15, 6, 4, 11, 13, 6)
MIN_KEYED = 200  # pixels of the shorter side of a figure with a key
MAX_ARROWS = 32  # along the longer side of the frame
MAX_FACTOR = 20  # of the length of arrows


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


def with_key(figure: np.ndarray, max_motion: float) -> np.ndarray:
    """A figure of `flow_figure` with its key, and the motion of the key's rim in pixels, in the lower right corner.

    Figures of less than MIN_KEYED pixels along a side are returned without a key.
    """
    import cv2

    height, width = figure.shape[:2]
    if min(height, width) < MIN_KEYED:
        return figure
    side = min(height, width) // 5 | 1
    size = side / 150  # of the letters
    text = f"{max_motion:.3g} px"
    (text_width, text_height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, 1)
    gap = text_height // 2 + 2
    box = np.full((side + text_height + 3 * gap, max(side, text_width) + 2 * gap, 3), 255, np.uint8)
    left = (box.shape[1] - side) // 2
    box[gap : gap + side, left : left + side] = key_figure(side)
    place = (box.shape[1] - text_width) // 2, box.shape[0] - gap
    cv2.putText(box, text, place, cv2.FONT_HERSHEY_SIMPLEX, size, (0, 0, 0), max(1, round(2 * size)), cv2.LINE_AA)
    shown = figure.copy()
    shown[height - box.shape[0] :, width - box.shape[1] :] = box
    return shown


def arrows(
    rgb: np.ndarray, flow: np.ndarray, valid: np.ndarray | None = None, spacing: int | None = None
) -> np.ndarray:
    """Draw the flow as arrows over the frame, RGB in [0, 1], one every `spacing` pixels; uint8 RGB.

    Arrows of pixels outside `valid` are grey; the others have the colours of the wheel.  If nearly all are short, they
    are drawn several times as long, as a note says.
    """
    import cv2

    height, width = flow.shape[:2]
    spacing = spacing or max(8, round(max(height, width) / MAX_ARROWS))
    long = float(np.percentile(np.linalg.norm(flow[::spacing, ::spacing], axis=2), 95))
    is_short = min(height, width) >= MIN_KEYED and 0 < long <= spacing / 2
    factor = int(min(MAX_FACTOR, spacing // long)) if is_short else 1
    figure = to_bytes(0.5 * rgb + 0.5 * rgb.mean(axis=2, keepdims=True) * 0.9)
    colours = flow_figure(flow)
    for y in range(spacing // 2, height, spacing):
        for x in range(spacing // 2, width, spacing):
            # A dark outline keeps arrows visible on any background.
            known = valid is None or valid[y, x]
            colour = tuple(int(c) for c in colours[y, x]) if known else (150, 150, 150)
            reached = x + factor * float(flow[y, x, 0]), y + factor * float(flow[y, x, 1])
            start, end = (tuple(round(16 * c) for c in point) for point in ((x, y), reached))
            for paint, thickness in (((0, 0, 0), 3), (colour, 1)):
                cv2.arrowedLine(figure, start, end, paint, thickness, cv2.LINE_AA, 4, 0.3)
    if factor > 1:
        cv2.rectangle(figure, (0, height - 18), (44 if factor > 9 else 34, height), (255, 255, 255), -1)
        cv2.putText(figure, f"x {factor}", (4, height - 4), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 0, 0), 1, cv2.LINE_AA)
    return figure


def warped_image(second: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """Warp the second frame, RGB in [0, 1], onto the first; black where the flow leaves the frame; uint8 RGB."""
    from apps.flow.refine import warp

    seen, inside = warp(np.asarray(second, np.float32), np.asarray(flow, np.float32))
    figure = to_bytes(seen)
    figure[~inside] = 0
    return figure


def error_figure(flow: np.ndarray, truth: np.ndarray, valid: np.ndarray | None = None):
    """Draw the end-point error in colours, uint8 RGB, above a scale bar.

    The scale ends at the 99th percentile of the error, and at 1 pixel or above.  Unknown pixels are grey.  The
    figure is `apps.common.figures.SCALE_HEIGHT` rows higher than the flow.
    """
    import cv2

    error = np.linalg.norm(flow.astype(np.float64) - truth, axis=2)
    known = np.isfinite(error) if valid is None else valid & np.isfinite(error)
    max_error = max(1.0, float(np.percentile(error[known], 99))) if known.any() else 1.0
    return with_scale(np.where(known, error, 0), max_error, cv2.COLORMAP_INFERNO, known)
