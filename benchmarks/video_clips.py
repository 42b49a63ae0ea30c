"""Clips with known masks: a photograph whose object and background move by different smooth warps.

The background behind the object is filled in, so that it can be uncovered.  Both layers move by a similarity and a
smooth displacement that grow with the frame's number; the frames are blended along the outline, as a camera does, and
get noise.  The warps are inverse maps, so that every frame is interpolated from the photograph once.
"""

from collections.abc import Iterator
from typing import NamedTuple

import cv2
import numpy as np

SIZE = (600, 400)  # width and height of a frame
FRAMES = 30
NOISE = 0.008  # standard deviation, of the range [0, 1]
OBJECT_SHIFT = 3.0  # pixels per frame
BACKGROUND_SHIFT = 1.5
TURN = 0.4  # degrees per frame
GROWTH = 0.003  # relative change of size per frame
RIPPLE = 0.25  # pixels per frame: standard deviation of the smooth displacement
RIPPLE_SIGMA = 40.0  # pixels
FILL_RADIUS = 5  # pixels


class Motion(NamedTuple):
    """Change of a layer per frame: shift (x, y) in pixels, turn in radians, growth, and displacement (H, W, 2)."""

    shift: np.ndarray
    turn: float
    growth: float
    ripple: np.ndarray

    def maps(self, number: int, centre: np.ndarray) -> np.ndarray:
        """Positions (H, W, 2), float32, in the photograph of the pixels of a frame."""
        height, width = self.ripple.shape[:2]
        y, x = np.mgrid[:height, :width].astype(np.float32)
        angle, scale = number * self.turn, (1 + self.growth) ** -number
        dx, dy = x - centre[0] - number * self.shift[0], y - centre[1] - number * self.shift[1]
        cosine, sine = scale * np.cos(angle), scale * np.sin(angle)
        rigid = np.dstack([centre[0] + cosine * dx - sine * dy, centre[1] + sine * dx + cosine * dy])
        return np.float32(rigid + number * self.ripple)


def make_clip(rgb: np.ndarray, truth: np.ndarray, seed: int, frames: int = FRAMES) -> Iterator:
    """Frames, float32 RGB in [0, 1], and their masks, bool; of a photograph and the mask of its object.

    Frame 0 is the photograph.
    """
    rng = np.random.default_rng(seed)
    object_mask = np.float32(truth)
    background = filled(rgb, truth)
    inside = np.argwhere(truth)
    centre = inside.mean(axis=0)[::-1]
    # The object moves towards the middle of the frame, so that it stays visible.
    towards = np.array(truth.shape[::-1]) / 2 - centre + rng.normal(0, 20, 2)
    towards /= np.hypot(*towards)
    moves = (
        _motion(rng, truth.shape, OBJECT_SHIFT * towards),
        _motion(rng, truth.shape, BACKGROUND_SHIFT * _direction(rng)),
    )
    for number in range(frames):
        on, off = (move.maps(number, centre) for move in moves)
        alpha = cv2.remap(object_mask, on, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        front = cv2.remap(rgb, on, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
        back = cv2.remap(background, off, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
        frame = alpha[..., None] * front + (1 - alpha[..., None]) * back
        frame += rng.normal(0, NOISE, frame.shape).astype(np.float32)
        yield np.clip(frame, 0, 1), alpha > 0.5


def filled(rgb: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The photograph without its object."""
    hole = cv2.dilate(truth.view(np.uint8), np.ones((7, 7), np.uint8))
    image = cv2.inpaint(np.uint8(rgb * 255 + 0.5), hole, FILL_RADIUS, cv2.INPAINT_TELEA)
    return np.float32(image) / 255


def resized(rgb: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A photograph and codes at SIZE, the photograph turned if it is upright."""
    if rgb.shape[0] > rgb.shape[1]:
        rgb, mask = rgb.swapaxes(0, 1), mask.swapaxes(0, 1)
    rgb = cv2.resize(np.ascontiguousarray(rgb), SIZE, interpolation=cv2.INTER_AREA)
    return rgb, cv2.resize(np.ascontiguousarray(mask), SIZE, interpolation=cv2.INTER_NEAREST)


def _motion(rng, shape, shift) -> Motion:
    ripple = np.dstack([cv2.GaussianBlur(rng.normal(0, 1, shape), None, RIPPLE_SIGMA) for _ in range(2)])
    ripple *= RIPPLE / ripple.std()
    turn = np.deg2rad(rng.choice([-1, 1]) * TURN)
    return Motion(np.asarray(shift), turn, rng.choice([-1, 1]) * GROWTH, ripple)


def _direction(rng) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle)])
