"""The prompts of one client on its volume, answered by `apps.Session`.

Axes are those of the client's array.  The session has the axis with the largest voxels first, so that strokes are
round in the other two.

A scribble marks its voxels.  A point is a short scribble.  A two-dimensional box or a lasso is answered in its slice,
as an image; the core of the object found there marks the object, and a line around it the background.  Without any
background, a first scribble is surrounded in the same way: in a volume, everything would be the object.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence

import cv2
import numpy as np

from apps import Session
from nninteractive_cutmatch.paths import paths_through

POINT = 1.5  # radius of a point, in voxels of the slice
MARGIN = 3  # pixels between an object found in a slice and the background marked around it
OBJECT, BACKGROUND = 1, 0

Box = list[list[int]]  # first and last + 1 along each axis


class Prompts:
    """A volume, the prompts on it, and the mask that the client has."""

    def __init__(self):
        self._session: Session | None = None
        self._mask: np.ndarray | None = None  # what the client has, bool
        self._before: list[tuple] = []  # the records before each prompt

    def close(self) -> None:
        """End the session; what it needs is freed."""
        if self._session is not None:
            self._session.close()
        self._session = self._mask = None
        self._before = []

    def set_image(self, image: np.ndarray, spacing) -> tuple[int, ...]:
        """Begin with an array (1, X, Y, Z), and the size of a voxel along each axis or None; returns its shape."""
        if image.ndim != 4 or len(image) != 1:
            raise ValueError(f"an image must have one channel and three axes, (1, X, Y, Z), got shape {image.shape}")
        self._spacing = np.ones(3) if spacing is None else np.array(spacing, float)
        if self._spacing.shape != (3,) or not (np.isfinite(self._spacing) & (self._spacing > 0)).all():
            raise ValueError(f"the spacing must be three positive numbers, got {spacing}")
        self._order = np.argsort(-self._spacing, kind="stable")
        values = np.ascontiguousarray(image[0].transpose(self._order), np.float32)  # one dtype: kernels for one
        session = Session(values, self._spacing[self._order], device="cpu")
        self.close()
        self._session, self._values, self._shape = session, values, image.shape[1:]
        self._mask = np.zeros(self._shape, bool)
        return image.shape

    def check_target(self, shape: Sequence[int]) -> None:
        """The client's mask is empty, and must have the shape of the image."""
        self._opened()
        if tuple(shape) != self._shape:
            raise ValueError(f"the target buffer has shape {tuple(shape)}, but the image {self._shape}")
        self._mask = np.zeros(self._shape, bool)

    def reset(self) -> None:
        """Remove all prompts; the client's mask is empty."""
        if self._session is not None:
            self._session.clear()
            self._mask, self._before = np.zeros(self._shape, bool), []

    def undo(self) -> bool:
        """Remove the last prompt; False if there is none."""
        if not self._before:
            return False
        self._opened().restore(self._before.pop())
        return True

    def answer(self) -> tuple[Box, np.ndarray] | None:
        """The box in which the mask differs from the client's, and the mask there, uint8; None without a difference."""
        session = self._opened()
        session.wait()
        found = session.mask if OBJECT in session.state["labels"] else np.zeros(self._values.shape, bool)
        found = found.transpose(np.argsort(self._order))
        changed = found != self._mask
        box = [_extent(changed.any(axis=_others(axis))) for axis in range(3)]
        self._mask = found
        if box[0] is None:
            return None
        part = tuple(slice(*ends) for ends in box)
        return box, found[part].astype(np.uint8)

    def point(self, place: Sequence[float], is_object: bool) -> None:
        """A click on a voxel."""
        place = [float(one) for one in place]
        if len(place) != 3 or not all(0 <= one < size for one, size in zip(place, self._opened_shape(), strict=True)):
            raise ValueError(f"a point must be a voxel of the image, of shape {self._shape}, got {place}")
        z, y, x = (int(place[axis]) for axis in self._order)
        centre = [(x + 0.5, y + 0.5)]
        with self._prompt() as session:
            session.stroke(centre, POINT, OBJECT if is_object else BACKGROUND, 0, z)
            if is_object:
                self._surround(0, z, lambda plane: plane.stroke(centre, POINT))

    def scribble(self, mask: np.ndarray, is_object: bool, box: Box | None) -> None:
        """The voxels of a mask of the image's shape, or of the shape of a box in it."""
        given = self._placed(mask, box)
        with self._prompt():
            axis = self._mark(given, OBJECT if is_object else BACKGROUND)
            if is_object:
                index = int(given.sum(axis=_others(axis)).argmax())
                marks = np.where(given.take(index, axis), np.int16(OBJECT), np.int16(-1))
                self._surround(axis, index, lambda plane: plane.set_strokes(marks))

    def lasso(self, mask: np.ndarray, is_object: bool, box: Box | None) -> None:
        """A region of a slice around the object, filled; without `is_object`, all of it is background."""
        given = self._placed(mask, box)
        used = [np.flatnonzero(given.any(axis=_others(axis))) for axis in range(3)]
        axis = min(range(3), key=lambda axis: len(used[axis]))
        if len(used[axis]) > 1:
            raise ValueError("a lasso must be drawn in one slice")
        index = int(used[axis][0])
        region = given.take(index, axis)
        with self._prompt():
            if is_object:
                self._mark_found(axis, index, lambda plane: plane.start_from(region))
            else:
                self._mark(given, BACKGROUND)

    def box(self, coords: Box, is_object: bool) -> None:
        """A box, half open, flat or not; without `is_object`, all of a flat one is background."""
        ends = np.array(coords)
        if ends.shape != (3, 2) or ends.dtype.kind not in "iu":
            raise ValueError("bbox_coords must be three pairs of whole numbers")
        ends = np.clip(ends, 0, np.array(self._opened_shape())[:, None])[self._order]
        sizes = ends[:, 1] - ends[:, 0]
        if (sizes < 1).any():
            raise ValueError(f"the box {coords} has no voxels in the image of shape {self._shape}")
        (z0, z1), (y0, y1), (x0, x1) = ends.tolist()
        if 1 not in sizes:
            if not is_object:
                raise ValueError("a box of several slices must contain the object; mark background by scribbles")
            with self._prompt() as session:
                session.box((x0, y0, z0, x1, y1, z1))
            return
        axis = int(np.flatnonzero(sizes == 1)[0])
        (top, bottom), (left, right) = np.delete(ends, axis, 0).tolist()
        given = np.zeros(self._values.shape, bool)
        given[z0:z1, y0:y1, x0:x1] = True
        with self._prompt():
            if is_object:
                self._mark_found(axis, int(ends[axis, 0]), lambda plane: plane.box((left, top, right, bottom)))
            else:
                self._mark(given, BACKGROUND)

    def start(self, mask: np.ndarray) -> None:
        """A mask of the image's shape to begin with; the earlier prompts are removed."""
        given = self._placed(mask, None)
        with self._prompt() as session:
            session.clear()
            session.start_from(given)
        self._mask = given.transpose(np.argsort(self._order))  # the client has drawn it itself

    def _opened(self) -> Session:
        if self._session is None:
            raise ValueError("there is no image yet; call set_image first")
        return self._session

    def _opened_shape(self) -> tuple[int, ...]:
        self._opened()
        return self._shape

    @contextlib.contextmanager
    def _prompt(self) -> Iterator[Session]:
        """What one `undo` removes; after an exception, the records are those before."""
        session = self._opened()
        before = session.records
        try:
            yield session
        except BaseException:
            session.restore(before)
            raise
        self._before.append(before)

    def _placed(self, mask: np.ndarray, box: Box | None) -> np.ndarray:
        """A mask of the session's volume, bool."""
        shape = self._opened_shape()
        if box is None:
            part = tuple(slice(0, size) for size in shape)
        else:
            if np.shape(box) != (3, 2) or not all(0 <= a < b <= n for (a, b), n in zip(box, shape, strict=True)):
                raise ValueError(f"interaction_bbox must be a box of the image of shape {shape}, got {box}")
            part = tuple(slice(*ends) for ends in box)
        if mask.ndim == 4 and len(mask) == 1:
            mask = mask[0]
        given = np.zeros(shape, bool)
        if mask.shape == shape:
            given[:] = mask > 0
        elif mask.shape == given[part].shape:
            given[part] = mask > 0
        else:
            raise ValueError(f"the mask has shape {mask.shape}, but the image {shape} and its box {given[part].shape}")
        if not given.any():
            raise ValueError("the mask is empty; draw at least one voxel")
        return given.transpose(self._order)

    def _mark(self, given: np.ndarray, label: int) -> int:
        """Mark voxels, slice by slice of the axis with fewest slices; returns it."""
        used = [np.flatnonzero(given.any(axis=_others(axis))) for axis in range(3)]
        axis = min(range(3), key=lambda axis: len(used[axis]))
        paths = [(index, path) for index in used[axis].tolist() for path in paths_through(given.take(index, axis))]
        for k, (index, path) in enumerate(paths):
            self._opened().stroke(path, 0.5, label, axis, index, final=k == len(paths) - 1)
        return axis

    def _surround(self, axis: int, index: int, draw: Callable[[Session], None]) -> None:
        """Mark background around the object that a stroke finds in its slice, unless there is background."""
        if BACKGROUND not in self._opened().state["labels"]:
            self._mark_line(axis, index, self._found(axis, index, draw))

    def _mark_found(self, axis: int, index: int, draw: Callable[[Session], None]) -> None:
        """Mark the core of the object found in a slice, and background around it."""
        found = self._found(axis, index, draw)
        depth = cv2.distanceTransform(np.pad(found, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
        core = np.zeros(self._values.shape, bool)
        core[(slice(None),) * axis + (index,)] = found & (depth >= depth.max() / 2)
        self._mark(core, OBJECT)
        self._mark_line(axis, index, found)

    def _mark_line(self, axis: int, index: int, found: np.ndarray) -> None:
        outside = cv2.distanceTransform((~found).astype(np.uint8), cv2.DIST_L2, 5)
        line = np.zeros(self._values.shape, bool)
        line[(slice(None),) * axis + (index,)] = (outside > MARGIN) & (outside <= MARGIN + 1.5)
        if found.any() and line.any():
            self._mark(line, BACKGROUND)

    def _found(self, axis: int, index: int, draw: Callable[[Session], None]) -> np.ndarray:
        """The object in a slice, by a session of the slice as an image; bool."""
        values = self._values.take(index, axis).astype(np.float32)
        low, high = np.percentile(values, (0.5, 99.5))
        scale = 1.0 / (high - low) if high > low and math.isfinite(high - low) else 0.0
        with Session(np.clip((values - low) * np.float32(scale), 0, 1), device="cpu") as session:
            draw(session)
            session.wait()
            return session.mask


def _extent(used: np.ndarray) -> list[int] | None:
    where = np.flatnonzero(used)
    return [int(where[0]), int(where[-1]) + 1] if len(where) else None


def _others(axis: int) -> tuple[int, ...]:
    return tuple({0, 1, 2} - {axis})
