"""Pairs of large motion for `python -m benchmarks flow`: pieces of photographs that move far over another photograph.

Each piece is an ellipse.  It is moved by a tenth of the width, turned and scaled, and the ground a little, at random;
pieces cover one another or leave the frame, and some move by half the width.
"""

import cv2
import numpy as np

HEIGHT, WIDTH = 384, 512
PHOTOGRAPHS = ("astronaut", "coffee", "chelsea", "rocket", "hubble_deep_field", "retina", "immunohistochemistry")
PIECES = 12
SIZES = 0.06, 0.4  # of a piece, as shares of the width
STEP = 0.1  # of the width
NOISE = 1.5  # grey levels


def pair(seed):
    """Two frames, uint8 (H, W, 3), and the flow between them, float32 (H, W, 2)."""
    rng = np.random.default_rng(seed)
    corner = np.zeros(2)
    layers = [
        (_photograph(rng, (HEIGHT, WIDTH)), np.ones((HEIGHT, WIDTH), np.float32), np.eye(3), _map(rng, corner, 4))
    ]
    for _ in range(PIECES):
        size = WIDTH * np.exp(rng.uniform(*np.log(SIZES)))
        shape = tuple(int(max(12, size * share)) for share in rng.uniform(0.5, 1, 2))
        inside = cv2.ellipse(
            np.zeros(shape, np.uint8),
            (shape[1] // 2, shape[0] // 2),
            (shape[1] // 2 - 3, shape[0] // 2 - 3),
            0,
            0,
            360,
            255,
            -1,
        )
        here = _map(rng, rng.uniform(0, (WIDTH, HEIGHT)) - np.array(shape[::-1]) / 2, 0)
        layers.append((_photograph(rng, shape), inside / np.float32(255), here, _map(rng, corner, STEP * WIDTH) @ here))
    first, owner = _drawn([(*layer[:2], layer[2]) for layer in layers], rng)
    second, _ = _drawn([(*layer[:2], layer[3]) for layer in layers], rng)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    points = np.stack([x, y, np.ones_like(x)]).reshape(3, -1)
    flow = np.zeros((HEIGHT, WIDTH, 2), np.float32)
    for number, (_, _, here, there) in enumerate(layers):
        moved = (there @ np.linalg.inv(here) @ points - points)[:2].T.reshape(HEIGHT, WIDTH, 2)
        flow[owner == number] = moved[owner == number]
    return first, second, flow


def _photograph(rng, shape):
    """A part of this shape of a photograph, reduced at random."""
    import skimage.data

    pixels = getattr(skimage.data, rng.choice(PHOTOGRAPHS))()[..., :3]
    scale = max(rng.uniform(0.3, 0.7), *((side + 1) / full for side, full in zip(shape, pixels.shape, strict=False)))
    small = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    y, x = (rng.integers(full - side + 1) for side, full in zip(shape, small.shape, strict=False))
    return small[y : y + shape[0], x : x + shape[1]]


def _map(rng, start, step):
    """A random similarity (3, 3): a translation by `start` and about `step` pixels, a small turn and scaling."""
    angle, scale = rng.normal(0, 0.1), np.exp(rng.normal(0, 0.05))
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    x, y = start + rng.normal(0, step, 2) if step else start
    return np.array([[cos, -sin, x], [sin, cos, y], [0, 0, 1]])


def _drawn(layers, rng):
    """The layers one over the other, uint8, and the number of the uppermost at each pixel."""
    frame, owner = np.zeros((HEIGHT, WIDTH, 3), np.float32), np.zeros((HEIGHT, WIDTH), np.int64)
    for number, (pixels, mask, place) in enumerate(layers):
        border = cv2.BORDER_CONSTANT if number else cv2.BORDER_REFLECT
        shown = cv2.warpAffine(pixels, place[:2], (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
        share = cv2.warpAffine(mask, place[:2], (WIDTH, HEIGHT), borderMode=border)
        frame += share[..., None] * (shown - frame)
        owner[share > 0.5] = number
    return np.clip(frame + rng.normal(0, NOISE, frame.shape), 0, 255).astype(np.uint8), owner
