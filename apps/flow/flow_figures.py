"""Pictures of a flow: the Middlebury colour wheel, arrows, the second frame warped back, the error with its scale.

The wheel is that of Baker et al. [1]: hue says the direction, saturation the length as a share of the longest; longer
vectors than that are dimmed, unknown pixels black.

[1] Baker et al. "A database and evaluation methodology for optical flow." IJCV 92(1), 2011.
"""

import numpy as np

from apps.common.images import to_bytes

# Steps from each hue to the next: red, yellow, green, cyan, blue, magenta.
STEPS = (15, 6, 4, 11, 13, 6)
ARROWS = 32  # along the longer side
SCALE_HEIGHT = 28


def colour_wheel() -> np.ndarray:
    """The 55 colours of the wheel, float64 (55, 3) in 0..255, whole numbers."""
    wheel = np.zeros((sum(STEPS), 3))
    # In turn one channel rises and another falls, from red on.
    moves = ((0, 1, True), (1, 0, False), (1, 2, True), (2, 1, False), (2, 0, True), (0, 2, False))
    row = 0
    for steps, (full, moving, rises) in zip(STEPS, moves, strict=True):
        ramp = np.floor(255 * np.arange(steps) / steps)
        wheel[row : row + steps, full] = 255
        wheel[row : row + steps, moving] = ramp if rises else 255 - ramp
        row += steps
    return wheel


def flow_picture(flow: np.ndarray, valid: np.ndarray | None = None, max_motion: float | None = None) -> np.ndarray:
    """A flow (H, W, 2) in the colours of the wheel, uint8 RGB (H, W, 3).

    `max_motion` is the length in pixels shown at full saturation; by default the longest vector there is.  One value
    for all frames of a video keeps their colours comparable.  Pixels not `valid` become black.
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
    place = (np.arctan2(-v * scale, -u * scale) / np.pi + 1) / 2 * (len(wheel) - 1)
    low = np.floor(place).astype(np.int64)
    high = np.where(low + 1 == len(wheel), 0, low + 1)
    share = (place - low)[..., None]
    colour = (1 - share) * wheel[low] + share * wheel[high]
    radius = radius[..., None]
    colour = np.where(radius <= 1, 1 - radius * (1 - colour), 0.75 * colour)
    picture = np.floor(255 * colour).astype(np.uint8)
    picture[~known] = 0
    return picture


def legend(side: int = 128) -> np.ndarray:
    """The wheel itself, uint8 RGB (side, side, 3): the colour of each vector within the unit disc, white outside."""
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    disc = np.hypot(x, y) <= 1
    picture = flow_picture(np.dstack([x, y]), max_motion=1.0)
    picture[~disc] = 255
    return picture


def arrows(
    rgb: np.ndarray, flow: np.ndarray, valid: np.ndarray | None = None, spacing: int | None = None
) -> np.ndarray:
    """Arrows of the flow over the frame, RGB in [0, 1], one every `spacing` pixels, in true length; uint8 RGB.

    Arrows of pixels that are not `valid` are grey; the others have the colours of the wheel.
    """
    import cv2

    height, width = flow.shape[:2]
    spacing = spacing or max(8, round(max(height, width) / ARROWS))
    picture = to_bytes(0.5 * rgb + 0.5 * rgb.mean(axis=2, keepdims=True) * 0.9)
    colours = flow_picture(flow)
    for y in range(spacing // 2, height, spacing):
        for x in range(spacing // 2, width, spacing):
            # A darker rim keeps arrows visible on any ground.
            known = valid is None or valid[y, x]
            colour = tuple(int(c) for c in colours[y, x]) if known else (150, 150, 150)
            end = x + float(flow[y, x, 0]), y + float(flow[y, x, 1])
            start, end = (tuple(round(16 * c) for c in point) for point in ((x, y), end))
            for paint, thickness in (((0, 0, 0), 3), (colour, 1)):
                cv2.arrowedLine(picture, start, end, paint, thickness, cv2.LINE_AA, 4, 0.3)
    return picture


def warped_picture(second: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """The second frame, RGB in [0, 1], brought back onto the first; black where the flow leaves it; uint8 RGB."""
    from apps.flow.refine import warp

    seen, inside = warp(np.asarray(second, np.float32), np.asarray(flow, np.float32))
    picture = to_bytes(seen)
    picture[~inside] = 0
    return picture


def error_picture(flow: np.ndarray, truth: np.ndarray, valid: np.ndarray | None = None, most: float | None = None):
    """The end-point error as colours, uint8 RGB, with a scale from 0 to `most` pixels under it.

    By default `most` is the error that 99 % of the pixels stay below, and 1 pixel at least.  Unknown pixels are grey.
    The picture is SCALE_HEIGHT rows higher than the flow.
    """
    import cv2

    error = np.linalg.norm(flow.astype(np.float64) - truth, axis=2)
    known = np.isfinite(error) if valid is None else valid & np.isfinite(error)
    if most is None:
        most = max(1.0, float(np.percentile(error[known], 99))) if known.any() else 1.0
    levels = np.uint8(np.clip(np.where(known, error, 0) / most, 0, 1) * 255 + 0.5)
    height, width = levels.shape
    bar = np.tile(np.uint8(np.linspace(0, 255, width) + 0.5), (SCALE_HEIGHT // 2, 1))
    picture = cv2.applyColorMap(np.vstack([levels, bar]), cv2.COLORMAP_INFERNO)[..., ::-1].copy()
    picture[:height][~known] = 110
    words = np.full((SCALE_HEIGHT - SCALE_HEIGHT // 2, width, 3), 255, np.uint8)
    for text, where in (("0", 0.0), (f"{most / 2:.3g}", 0.5), (f"{most:.3g} px", 1.0)):
        (wide, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.4, 1)
        x = round(np.clip(where * width - wide / 2, 2, max(2, width - wide - 2)))
        cv2.putText(words, text, (x, 11), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (0, 0, 0), 1, cv2.LINE_AA)
    return np.vstack([picture, words])
