"""Images of several objects with boxes, composed of photographs of one object each with ground truth.

tiles      ten photographs next to each other, in two rows; their boxes do not overlap
collages   ten objects on another photograph; later ones cover earlier ones, and most boxes overlap

The box of an object is that of its visible pixels, wider by BOX_MARGIN of its size on each side.
"""

import cv2
import numpy as np

OBJECTS = 10  # of an image
TILE = 150, 200  # height and width of a photograph in tiles
COLLAGE = 480, 640
SIDES = 110, 210  # pixels of the longer side of an object in a collage
MIN_VISIBLE = 600  # pixels; an object of which less is visible has no box
BOX_MARGIN = 0.05
EDGE_BLUR = 0.7  # pixels: of an object's outline in a collage
OBJECT = 255  # in a ground truth


def tiles(cases, seed):
    """RGB in [0, 1], labels of the ground truth, and boxes x0, y0, x1, y1 of the objects 1, 2, ..."""
    height, width = TILE
    picked = _some(np.random.default_rng(seed), cases, OBJECTS)
    columns = OBJECTS // 2
    image, truth = np.zeros((2 * height, columns * width, 3), np.float32), np.zeros((2 * height, columns * width), int)
    for value, case in enumerate(picked, 1):
        _, rgb, mask, _ = cases[case]
        row, column = divmod(value - 1, columns)
        part = slice(row * height, (row + 1) * height), slice(column * width, (column + 1) * width)
        image[part] = _resized(rgb, width, height)
        truth[part][_resized(np.float32(mask == OBJECT), width, height) > 0.5] = value
    return np.clip(image, 0, 1), *_with_boxes(truth, 1)


def collages(cases, seed):
    """The same with objects that cover one another."""
    height, width = COLLAGE
    rng = np.random.default_rng(seed)
    ground, *picked = _some(rng, cases, OBJECTS + 1)
    image, truth = cv2.resize(cases[ground][1], (width, height), interpolation=cv2.INTER_CUBIC), np.zeros(COLLAGE, int)
    for value, case in enumerate(picked, 1):
        _, rgb, mask, _ = cases[case]
        rows, columns = (np.flatnonzero((mask == OBJECT).any(axis=axis)) for axis in (1, 0))
        part = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        alpha = np.float32(mask[part] == OBJECT)
        size = [max(8, int(side)) for side in np.array(alpha.shape[::-1]) * rng.uniform(*SIDES) / max(alpha.shape)]
        alpha = cv2.GaussianBlur(_resized(alpha, *size), (0, 0), EDGE_BLUR)
        x, y = (int(rng.integers(0, most - side)) for most, side in zip((width, height), size, strict=True))
        place = slice(y, y + size[1]), slice(x, x + size[0])
        image[place] += (_resized(rgb[part], *size) - image[place]) * alpha[..., None]
        truth[place][alpha > 0.5] = value
    return np.clip(image, 0, 1), *_with_boxes(truth, MIN_VISIBLE)


def _some(rng, cases, count):
    """The numbers of that many cases, different if there are enough."""
    return rng.choice(len(cases), count, replace=len(cases) < count)


def _resized(pixels, width, height):
    return cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)


def _with_boxes(truth, least):
    """The labels without those of fewer pixels than `least`, from 1 without gaps, and their boxes."""
    labels, boxes = np.zeros_like(truth), []
    for value in range(1, OBJECTS + 1):
        y, x = np.nonzero(truth == value)
        if y.size < least:
            continue
        across, down = (round(BOX_MARGIN * (np.ptp(side) + 1)) for side in (x, y))
        low = max(0, x.min() - across), max(0, y.min() - down)
        boxes.append((*low, min(truth.shape[1], x.max() + 1 + across), min(truth.shape[0], y.max() + 1 + down)))
        labels[y, x] = len(boxes)
    return labels, [tuple(map(int, box)) for box in boxes]
