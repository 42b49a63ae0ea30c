"""Scenes, and an independent computation of what a session must show."""

from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
from scipy import ndimage

import gridcut
from apps.common.images import read_image, to_bytes
from apps.segmentation.image_sizes import reduced_marks
from apps.segmentation.terms import FORBIDDEN
from apps.session.session_records import Box, Lock, Marks, MaskHint, Stroke, Unlock, effective


def disc_scene(height=40, width=56, seed=0, noise=18):
    """A noisy image of a disc, uint8 (H, W, 3), and the disc."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    truth = (y - height / 2) ** 2 + (x - width / 2) ** 2 < (height / 3) ** 2
    image = rng.normal(110, noise, (height, width, 3)) + truth[..., None] * np.array([40, 10, -25])
    return np.uint8(np.clip(image, 0, 255)), truth


def painted(records, shape, full):
    """Marks of records on a grid, from the distance of every pixel to every segment; none in locked objects."""
    down, across = shape[0] / full[0], shape[1] / full[1]
    y, x = (axis + 0.5 for axis in np.mgrid[: shape[0], : shape[1]])
    layer = np.full(shape, -1, np.int16)
    boxes, closed, located = {}, {}, set()
    for record in effective(records):
        if isinstance(record, Box):
            boxes[record.label] = record.box
        elif isinstance(record, MaskHint):
            located |= {record.label}
        elif isinstance(record, Lock):
            closed[record.label] = record
            if record.is_start:
                boxes.pop(record.label, None)
        elif isinstance(record, Unlock):
            located |= {record.label} if closed.pop(record.label).is_start else set()
        elif isinstance(record, Marks):
            marks = reduced_marks(record.marks, shape)
            layer = np.where(marks == -1, layer, marks)
        elif isinstance(record, Stroke):
            points = np.array(record.points) * (across, down)
            covered = near_polyline(x, y, points, max(0.5, record.radius * across))
            layer[covered] = -1 if record.label is None else record.label
    around = [box for label, box in boxes.items() if label not in closed]
    if around and {*np.unique(layer).tolist(), *located} <= {-1, 0, *boxes, *closed}:
        outside = layer == -1
        for x0, y0, x1, y1 in around:
            outside &= (
                (y < int(y0 * down)) | (y > np.ceil(y1 * down)) | (x < int(x0 * across)) | (x > np.ceil(x1 * across))
            )
        layer[outside] = 0
    layer[np.isin(layer, [*closed])] = -1
    for lock in closed.values():
        layer[pixels_of(lock, full)[np.ix_((y[:, 0] / down).astype(int), (x[0] / across).astype(int))]] = -1
    return layer


def pixels_of(lock, shape):
    """The pixels of a locked object, bool."""
    x0, y0, x1, y1 = lock.box
    pixels = np.zeros(shape, bool)
    pixels[y0:y1, x0:x1] = lock.pixels.values()
    return pixels


def near_polyline(x, y, points, radius):
    covered = np.zeros(x.shape, bool)
    corners = points if len(points) > 1 else [*points, *points]
    for (x0, y0), (x1, y1) in pairwise(corners):
        run, fall = x1 - x0, y1 - y0
        length = run**2 + fall**2
        along = np.clip(((x - x0) * run + (y - y0) * fall) / length, 0, 1) if length else 0.0
        covered |= (x - x0 - along * run) ** 2 + (y - y0 - along * fall) ** 2 <= radius**2
    for px, py in points:
        covered |= (np.floor(px) == x - 0.5) & (np.floor(py) == y - 0.5)
    return covered


def costs_with(costs, marks):
    """Costs (L, H, W) of all pixels, from the tables and the marks; closed pixels have the first label."""
    if costs.closed is not None:
        marks = np.where(costs.closed, costs.values[0], marks)
    unary = costs.table[:, costs.index].astype(np.int64)
    if costs.location is not None:
        unary += costs.location
    for place, value in enumerate(costs.values):
        unary[place][marks == value] = 0
        unary[place][(marks >= 0) & (marks != value)] = FORBIDDEN
    return unary


def cold_labels(view, models, marks, keep):
    """Labels of a first solve of two labels, with the given models and marks."""
    costs = view.costs(models)
    background, foreground = costs_with(costs, marks)
    cut = gridcut.max_flow(background, foreground, view.edges(), device="cpu")
    cut.check()
    labels = np.array(costs.values, np.int16)[cut.labels.view(np.uint8)]
    return touching(labels, marks) if keep == "touching" else labels


def touching(labels, marks):
    """Labels without the parts of objects that touch none of their marks."""
    out = labels.copy()
    for value in np.unique(labels[labels > 0]):
        part, count = ndimage.label(labels == value, np.ones((3, 3)) if labels.ndim == 2 else None)
        for number in range(1, count + 1):
            if not (marks[part == number] == value).any():
                out[part == number] = 0
    return out


def photo_of_two_objects():
    """A photograph, uint8 (H, W, 3), and a box in it that two objects fit."""
    photo = to_bytes(read_image(Path(__file__).parents[3] / "data" / "astronaut.jpg"))
    return cv2.resize(photo, (256, 256), interpolation=cv2.INTER_AREA), (26, 81, 80, 157)
