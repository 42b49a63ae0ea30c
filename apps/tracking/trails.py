"""Figures of tracks as trails over the frames, in one colour per track.

Figures are uint8 RGB.  Small frames are enlarged by an integer factor, so that trails can be distinguished.
"""

import numpy as np

from apps.common.figures import (
    draw_circles,
    draw_lines,
    drawn_at,
    enlarged,
    in_corner,
    length_bar,
    letter_height,
    line_width,
    zoom_of,
)
from apps.common.images import to_bytes
from apps.tracking.tracking import Tracks
from gridcut.device.figures import label_colours

MIN_LONG_SIDE = 800  # pixels: minimum length of a figure's longer side
BACKGROUND_BRIGHTNESS = 0.6  # relative brightness of the frame under the trails
MIN_CONTRAST = 0.5  # frames with a smaller range of values are stretched


class Trails:
    """Draws tracks over frames of the same size.

    Parameters
    ----------
    tracks : Tracks
        Their x and y are drawn; a third axis is ignored.
    shape : tuple
        (height, width) of the frames.
    """

    def __init__(self, tracks: Tracks, shape: tuple):
        self.zoom = zoom_of(shape, MIN_LONG_SIDE)
        self.shape = (shape[0] * self.zoom, shape[1] * self.zoom)
        self.position = drawn_at(tracks.detections.position[:, :2], self.zoom)
        self.colour = label_colours(np.arange(len(tracks)))[tracks.track]
        self.tracks = tracks
        self.scale = length_bar(self.zoom, self.shape[1], letter_height(self.shape), " px")

    def figure(self, frame: np.ndarray) -> np.ndarray:
        """Draw all trails over the last frame (H, W, 3), with circles at tracks in the last frame.

        A bar of a round length is in the lower left corner.
        """
        shown = self._background(frame)
        self._draw(shown, np.arange(len(self.tracks.link)))
        when = self.tracks.detections.frame
        self._rings(shown, np.flatnonzero((when == when.max()) & (self.tracks.length[self.tracks.track] > 1)))
        return in_corner(shown, self.scale)

    def frame_figure(self, number: int, frame: np.ndarray, tail: int) -> np.ndarray:
        """Draw frame `number` with its detections and the links of the last `tail` frames."""
        shown = self._background(frame)
        when = self.tracks.detections.frame
        later = when[self.tracks.link[:, 1]]
        self._draw(shown, np.flatnonzero((later <= number) & (later > number - tail)))
        self._rings(shown, np.flatnonzero(when == number))
        return shown

    def _draw(self, shown, links) -> None:
        first, second = self.tracks.link[links].T
        draw_lines(shown, self.position[first], self.position[second], self.colour[second], line_width(shown.shape))

    def _rings(self, shown, detections) -> None:
        radius = 3 * line_width(shown.shape)
        draw_circles(shown, self.position[detections], self.colour[detections], radius, 1)

    def _background(self, frame) -> np.ndarray:
        low, high = np.percentile(frame, (0.2, 99.8))
        if high - low < MIN_CONTRAST:
            frame = (frame - low) / max(high - low, 1e-3)
        dimmed = to_bytes(BACKGROUND_BRIGHTNESS * frame)
        return enlarged(dimmed, self.zoom)
