"""Photographs of skimage.data with strokes or a box, for the demo and the sample files."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Example:
    """An image of skimage.data, with strokes as polylines of (x, y), or with a box (x0, y0, x1, y1)."""

    name: str
    on_object: tuple = ()
    on_background: tuple = ()
    box: tuple | None = None


EXAMPLES = (
    Example(
        "astronaut",
        on_object=(
            ((225, 90), (222, 150), (215, 210), (190, 270), (90, 330), (40, 470)),
            ((215, 250), (300, 330), (420, 390), (470, 490)),
            ((180, 60), (225, 25), (275, 70)),
            ((200, 480), (340, 480)),
            ((50, 345), (120, 400), (300, 420)),
            ((140, 210), (180, 160), (270, 180)),
            ((160, 156), (138, 166), (128, 190), (134, 215)),
            ((372, 352), (410, 352), (455, 380), (484, 425), (494, 450)),
            ((490, 470), (500, 500)),
            ((160, 480), (182, 490)),
            ((38, 338), (34, 372)),
            ((122, 248), (136, 268)),
            ((286, 498), (306, 503)),
        ),
        on_background=(
            ((12, 200), (20, 20), (110, 15), (130, 130), (120, 230)),
            ((310, 20), (300, 140), (330, 220)),
            ((345, 10), (430, 12), (500, 20), (500, 330)),
            ((360, 60), (420, 220), (480, 300)),
            ((40, 140), (70, 200), (15, 300)),
            ((380, 280), (420, 305), (505, 310)),
            ((5, 285), (5, 350), (8, 420)),
            ((378, 335), (420, 332), (470, 358), (500, 400)),
        ),
    ),
    Example("coffee", box=(68, 8, 492, 392)),
    Example(
        "chelsea",
        on_object=(
            ((20, 290), (60, 200), (110, 130), (200, 100), (280, 110), (330, 190), (290, 280)),
            ((40, 30), (110, 40), (215, 60)),
            ((335, 25), (310, 60), (230, 20)),
            ((100, 270), (230, 280), (330, 285)),
        ),
        on_background=(((440, 20), (430, 120), (440, 280)), ((400, 60), (390, 120))),
    ),
    Example("rocket", box=(255, 15, 400, 400)),
)
STROKE_WIDTH = 7  # pixels


def strokes_of(example: Example, shape) -> np.ndarray:
    """Marks (H, W) of an example's polylines."""
    import cv2

    from apps.segment.marks import BACKGROUND, OBJECT, OPEN

    marks = np.full(shape, OPEN, np.int8)
    for lines, mark in ((example.on_background, BACKGROUND), (example.on_object, OBJECT)):
        for line in lines:
            cv2.polylines(marks, [np.array(line, np.int32)], False, int(mark), STROKE_WIDTH)
    return marks
