"""Link the detections of a sequence into tracks, frame by frame, by exact gated assignments.

Each active track is a row, each detection of the next frame a column.  Pairs within `search_range` pixels may be
linked at the square of their distance; leaving a track unlinked costs search_range^2.  The links have the minimum sum
of costs, as defined by Crocker and Grier [1].  Their combinatorial search of each connected group of tracks and
detections is limited to about thirty of them.  One sparse assignment solves all groups together, whatever their size:
a shortest-path search never leaves its group, and splitting the graph first took longer than the whole solve.

An unlinked track is kept for `memory` frames, at its last or its predicted position.  An unlinked detection starts a
new track.  The linker "global" links all frames together instead (global_links.py).

[1] Crocker, Grier. "Methods of digital video microscopy for colloidal studies." J. Colloid Interface Sci. 179, 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import check_number
from apps.common.images import InputError
from apps.motion.linking import link
from apps.tracking import LINKERS
from apps.tracking.active_tracks import ActiveTracks, pairs_in_range
from apps.tracking.global_links import pairs_of_frames, tracks_of
from gridcut.device import DeviceName
from gridcut.device.result import Result
from gridcut.device.tables import DataFrame, data_frame, is_data_frame

MAX_COORDINATE = 1e12  # of positions and search ranges, so that squared distances are accurate
MAX_FRAME = 2**53  # up to here float64 represents every integer
AXES = ("x", "y", "z")
ADDED_COLUMNS = ("track", "particle", "link_margin")  # of tables of tracks


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Detections(Result):
    """Points found in the frames of a sequence, in any order.

    Attributes
    ----------
    frame : (N,) int64
    position : (N, d) float64
        x, y (and z) in pixels, or any unit of length.
    extra : dict of str to (N,) arrays
        Further columns, such as "mass"; copied to the tracks.
    """

    frame: np.ndarray
    position: np.ndarray
    extra: dict = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tracks(Result):
    """The track of each detection, and the links between detections.

    Attributes
    ----------
    detections : Detections
        As passed in, unchanged.
    track : (N,) int64
        Index of each detection's track: 0, 1, ... in order of their first detection.
    link : (L, 2) int64
        Linked detections, earlier and later, as indices into `detections`.
    margin : (L,) float64
        Lower bound on the cost increase of the frame's links (linker "global": of all links) without this one, in
        squared pixels: 0 if another solution costs the same, at most 2 search_range^2.
    """

    detections: Detections
    track: np.ndarray
    link: np.ndarray
    margin: np.ndarray

    def __len__(self) -> int:
        """Number of tracks."""
        return int(self.track.max()) + 1 if len(self.track) else 0

    @property
    def length(self) -> np.ndarray:
        """Number of detections of each track."""
        return np.bincount(self.track, minlength=len(self))

    def to_pandas(self) -> Any:
        """The detections as a pandas.DataFrame with their tracks as `particle`; ImportError without pandas.

        The rows are in the order of the detections.  The columns are x, y (and z), frame, those of
        `Detections.extra`, particle, and link_margin, which is NaN for the first detection of a track.
        """
        found = self.detections
        axes = {name: found.position[:, i] for i, name in enumerate(AXES[: found.position.shape[1]])}
        added = {"particle": self.track, "link_margin": margins_of(self)}
        return data_frame({**axes, "frame": found.frame, **found.extra, **added})


def track(
    detections: Detections | DataFrame | Iterable[ArrayLike],
    *,
    search_range: float,
    memory: int = 0,
    predict: bool | Callable = False,
    linker: str = LINKERS[0],
    device: DeviceName = "auto",
    progress: Callable | None = None,
) -> Tracks:
    """Link detections into tracks.

    Parameters
    ----------
    detections : Detections, a DataFrame, or a sequence of arrays (n, d), one per frame
        A DataFrame has the columns frame, x and y, and optionally z, as for trackpy; its other columns are kept.
    search_range : float
        Maximum distance of a link from the predicted position of the track, in pixels.
    memory : int
        Number of frames for which a track may be lost.
    predict : bool or callable
        False: tracks are expected at their last position.  True: they continue at their velocity, the running mean of
        their displacements.  A new track starts with the velocity of its neighbours, and the first tracks with the
        displacement shared by most points, which may exceed the search range.
        A callable receives the frame number and the positions (n, d) predicted in the previous frame, and returns the
        predicted positions; it is called for every frame with detections (see `apps.tracking.follow.Follower`).
    linker : {"assignment", "global"}
        "assignment" links frame by frame (see `apps.motion.linking`), "global" all frames together at minimum total
        cost, without prediction; with `memory`, fewer links are then wrong (see `apps.tracking.global_links`).
    device : {"auto", "cpu", "cuda"}
        Checked for availability; these sparse assignments are solved on the CPU on every device.
    progress : callable, optional
        Wraps the iterable of frames, as tqdm does.

    Returns
    -------
    Tracks

    Raises
    ------
    InputError
        If an argument is out of range, or positions are not finite or not of shape (N, d).
    """
    check_settings(search_range, memory, predict, linker)
    if is_data_frame(detections):
        names, what = list(detections.columns), "detections: the DataFrame"
        detections = from_columns(names, detections.__getitem__, what, lambda row: f"row {row}")
    elif not isinstance(detections, Detections):
        detections = from_frames(detections)
    check_detections(detections)
    order = np.argsort(detections.frame, kind="stable")
    frames, first = np.unique(detections.frame[order], return_index=True)
    steps = list(zip(frames, np.split(order, first[1:]), strict=True)) if len(order) else []
    unmatched_cost = search_range**2 * (1 + 1e-9)  # a pair at exactly the search range is linked
    how = search_range, memory, unmatched_cost, device, progress
    if linker == "global":
        links, margin = _all_frames(detections, order, steps, *how)
    else:
        links, margin = _frame_by_frame(detections, steps, predict, *how)
    return Tracks(detections, tracks_of(links, order), links, margin)


def _frame_by_frame(
    detections, steps, predict, search_range, memory, unmatched_cost, device, progress
) -> tuple[np.ndarray, np.ndarray]:
    """Links (L, 2) and their margins, each frame linked to the tracks before it."""
    active = ActiveTracks(detections.position.shape[1], predict)
    links, margins = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    for frame, found in progress(steps) if progress else steps:
        position = detections.position[found]
        active.prune(frame, memory)
        active.predict(frame, position, search_range)
        row, col, cost = pairs_in_range(active.expected, position, search_range)
        chosen = link(row, col, cost, (len(active.detection), len(found)), unmatched_cost, device)
        linked, taken = row[chosen.pair], col[chosen.pair]
        links.append(np.column_stack([active.detection[linked], found[taken]]))
        margins.append(chosen.margin)
        active.update(frame, position, found, linked, taken, np.setdiff1d(np.arange(len(found)), taken))
    return np.concatenate(links), np.concatenate(margins)


def _all_frames(
    detections, order, steps, search_range, memory, unmatched_cost, device, progress
) -> tuple[np.ndarray, np.ndarray]:
    """Links (L, 2) and their margins, by the linker "global"."""
    row, col, cost = pairs_of_frames(progress(steps) if progress else steps, detections.position, search_range, memory)
    shape = len(order), len(order)
    chosen = link(row, col, cost, shape, unmatched_cost, device, exact_margin=False)
    pair = chosen.pair[np.lexsort((row[chosen.pair], detections.frame[col[chosen.pair]]))]
    margin = np.empty(len(row))
    margin[chosen.pair] = chosen.margin
    return np.column_stack([row[pair], col[pair]]), margin[pair]


def from_frames(frames) -> Detections:
    """Convert arrays (n, d), one per frame, to Detections."""
    if isinstance(frames, str | bytes | dict):
        raise InputError(
            f"detections must be Detections, a DataFrame or arrays (n, d), one per frame; got {type(frames).__name__}"
        )
    try:
        arrays = [np.asarray(points, np.float64) for points in frames]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"detections must be Detections, a DataFrame, or arrays (n, d) of numbers, one per frame ({error})"
        ) from None
    width = {points.shape[1] for points in arrays if points.ndim == 2 and len(points)}
    if len(width) > 1 or any(points.ndim != 2 and points.size for points in arrays):
        raise InputError(
            f"detections must be arrays (n, d) with the same d, got shapes {sorted({a.shape for a in arrays})}"
        )
    d = width.pop() if width else 2
    full = [points if points.size else np.zeros((0, d)) for points in arrays]
    frame = np.repeat(np.arange(len(full)), [len(points) for points in full])
    return Detections(frame, np.concatenate(full) if full else np.zeros((0, d)))


def margins_of(tracks: Tracks) -> np.ndarray:
    """The margin of the link to each detection from the one before, float64 (N,); NaN for the first of a track."""
    margin = np.full(len(tracks.detections), np.nan)
    margin[tracks.link[:, 1]] = tracks.margin
    return margin


def from_columns(names: list[str], column: Callable, what: str, row: Callable[[int], str]) -> Detections:
    """Convert a table with the columns frame, x, y (and z) to Detections, with its other columns as extra.

    names    of all columns; those that tables of tracks add are ignored, so that such tables can be linked again
    column   name -> values (N,), numbers or texts
    what     start of the messages, "ARGUMENT: THE TABLE"
    row      number of a row -> the row in words

    Raises InputError for missing and repeated columns, and for values that are not finite numbers, not integers as
    frame numbers, or too large.
    """
    if missing := [name for name in ("frame", "x", "y") if name not in names]:
        raise InputError(f"{what} has no column {' and no '.join(missing)}; it needs frame, x and y")
    if twice := [name for name in dict.fromkeys(names) if name and names.count(name) > 1]:
        raise InputError(f"{what} has several columns called {twice[0]!r}; rename or remove the others")
    axes = [name for name in AXES if name in names]
    numbers = {name: _checked(column(name), name, lambda at: f"{what}, {row(at)}") for name in ("frame", *axes)}
    extra = {name: np.asarray(column(name)) for name in names if name and name not in ("frame", *axes, *ADDED_COLUMNS)}
    return Detections(numbers["frame"].astype(np.int64), np.column_stack([numbers[axis] for axis in axes]), extra)


def _checked(values, name: str, where: Callable[[int], str]) -> np.ndarray:
    """A column as float64; InputError for what is no finite number, too large, or no integer as a frame number.

    where   number of a row -> start of the message
    """
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        numbers = np.full(len(values), np.nan)
        for at, value in enumerate(values):
            with suppress(TypeError, ValueError):
                numbers[at] = float(value)
    is_frame = name == "frame"
    too_large = f"above the maximum of {MAX_FRAME if is_frame else f'{MAX_COORDINATE:g}'}; choose another unit"
    for is_wrong, reason in (
        (~np.isfinite(numbers), "expected a finite number"),
        (is_frame & (numbers != np.rint(numbers)), "expected an integer"),
        (np.abs(numbers) > (MAX_FRAME if is_frame else MAX_COORDINATE), too_large),
    ):
        if is_wrong.any():
            at = int(np.flatnonzero(is_wrong)[0])
            raise InputError(f"{where(at)}: {name} is {np.asarray(values, object)[at]!r}, {reason}")
    return numbers


def keep_long(tracks: Tracks, min_length: int) -> Tracks:
    """Keep and renumber the tracks with at least `min_length` detections."""
    if min_length <= 1:
        return tracks
    is_long = tracks.length >= min_length
    kept = is_long[tracks.track]
    number, new_index = np.cumsum(is_long) - 1, np.cumsum(kept) - 1
    links = kept[tracks.link[:, 0]]
    found = tracks.detections
    extra = {name: values[kept] for name, values in found.extra.items()}
    return Tracks(
        Detections(found.frame[kept], found.position[kept], extra),
        number[tracks.track[kept]],
        new_index[tracks.link[links]],
        tracks.margin[links],
    )


def default_search_range(detections: Detections) -> float:
    """Return half the median distance between neighbours in a frame, up to which most links are unambiguous.

    Raises InputError if no frame contains two distinct points.
    """
    from scipy.spatial import cKDTree

    frames, count = np.unique(detections.frame, return_counts=True)
    spacing = []
    for frame in frames[count > 1][:50]:
        points = detections.position[detections.frame == frame]
        spacing.append(cKDTree(points).query(points, 2)[0][:, 1])
    if not spacing or not np.median(np.concatenate(spacing)):
        raise InputError(
            "the search range cannot be estimated from frames of one point each; pass search_range, in pixels"
        )
    return float(np.median(np.concatenate(spacing)) / 2)


def check_settings(search_range, memory, predict, linker, spelled: Callable[[str], str] = lambda name: name) -> None:
    """Raise InputError for arguments of `track` that are out of range; `spelled` gives their names in the messages."""
    check_number(search_range, spelled("search_range"))
    if not 0 < search_range < np.inf:
        raise InputError(f"{spelled('search_range')} must be above 0 pixels, got {search_range}")
    if search_range > MAX_COORDINATE:
        raise InputError(f"{spelled('search_range')} must be at most {MAX_COORDINATE:g} pixels, got {search_range}")
    if linker not in LINKERS:
        raise InputError(f"linker must be {', '.join(LINKERS)}, got {linker!r}")
    check_number(memory, spelled("memory"), integer=True)
    if memory < 0:
        raise InputError(f"{spelled('memory')} must be 0 or more frames, got {memory}")
    if linker == "global" and predict is not False:
        raise InputError(
            f"the linker 'global' compares detections without prediction; omit {spelled('predict')}, got {predict!r}"
        )


def check_detections(detections: Detections) -> None:
    """Raise InputError for mismatched shapes, frame numbers of another type, and positions not finite or too large."""
    position, frame = detections.position, detections.frame
    if position.ndim != 2 or frame.shape != position.shape[:1]:
        raise InputError(
            f"detections need frame (N,) and position (N, d), got shapes {frame.shape} and {position.shape}"
        )
    if frame.dtype.kind not in "iu":
        raise InputError(f"detections need integer frame numbers, got {frame.dtype}")
    for axis, values in enumerate(position.T):
        _checked(values, AXES[axis] if axis < 3 else f"axis {axis}", lambda at: f"detections, number {at}")
