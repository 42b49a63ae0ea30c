"""Detections of a sequence linked into tracks, frame by frame, each time by an exact gated assignment.

Every track that is alive is a row, every detection of the next frame a column; pairs nearer than `reach` pixels
may be linked, at the square of their distance, and leaving a track unlinked costs reach^2.  The links chosen
have the least sum there is, as Crocker and Grier [1] ask for; they search each group of tracks and detections
within reach of each other by trial, which ends at some thirty of them.  Here one sparse assignment takes all
groups at once, whatever their size: a search for a shortest path never leaves its group, so splitting the
graph first would only cost time (measured: longer than the whole solve).

A track that finds nothing is kept for `memory` frames where it was, or where it was heading; a detection that
no track takes begins a new one.

[1] Crocker, Grier. "Methods of digital video microscopy for colloidal studies." J. Colloid Interface Sci. 179, 1996.
"""

from dataclasses import dataclass, field

import numpy as np

from apps.common.arguments import check_number
from apps.common.images import InputError
from apps.motion.linking import link
from apps.track.active_tracks import ActiveTracks, pairs_in_range

MAX_COORDINATE = 1e12  # of positions and of the reach: squares of distances keep their digits
MAX_FRAME = 2**53  # the last whole number up to which floats hold all


@dataclass(frozen=True, slots=True)
class Detections:
    """Points found in the frames of a sequence, in any order.

    Attributes
    ----------
    frame : (N,) int64
    position : (N, d) float64
        x, y (and z) in pixels, or any unit of length.
    extra : dict of str to (N,) arrays
        What else is known of each, such as "mass"; carried along.
    """

    frame: np.ndarray
    position: np.ndarray
    extra: dict = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)


@dataclass(frozen=True, slots=True)
class Tracks:
    """Tracks: for each detection, the one it belongs to.

    Attributes
    ----------
    detections : Detections
        As passed in, unchanged.
    track : (N,) int64
        Number of each detection's track, by birth: 0, 1, ...
    link : (L, 2) int64
        Detections linked, earlier and later, as positions in `detections`.
    margin : (L,) float64
        How much more, at least, the frame's links would cost without this one (from the dual prices), in squared
        pixels: 0 where another solution is as good, up to 2 reach^2.
    counts : dict
        "frames": frames with a detection; "candidates": pairs within the search range; "unlinked_in_range": tracks that
        had a detection within the search range and were not linked; "contested": tracks whose nearest detection is also
        the nearest of another track.
    """

    detections: Detections
    track: np.ndarray
    link: np.ndarray
    margin: np.ndarray
    counts: dict

    def __len__(self) -> int:
        """Number of tracks."""
        return int(self.track.max()) + 1 if len(self.track) else 0

    @property
    def length(self) -> np.ndarray:
        """Detections of each track."""
        return np.bincount(self.track, minlength=len(self))


def track(
    detections,
    *,
    search_range: float,
    memory: int = 0,
    predict=False,
    linker: str = "assignment",
    device: str = "auto",
    progress=None,
) -> Tracks:
    """Link detections into tracks.

    Parameters
    ----------
    detections : Detections, or a sequence of arrays (n, d), one for each frame
    search_range : float
        No link is longer than this, measured from where a track is expected.
    memory : int
        Frames a track may miss and still be found again.
    predict : bool or callable
        True: expect tracks to go on at their velocity rather than to stay where they are.  A track's velocity is its
        last displacements' running mean; before there is one, that of its neighbours, and at first the displacement
        that most points share, which may be longer than the reach.
        A function of a frame's number and the tracks' places (n, d) expected in the frame before, which answers where
        to expect them now; called for every frame that holds detections, such as `apps.track.follow.Follower`.
    linker : {"assignment", "greedy", "mutual"}
        The exact one, or rivals to compare with; see `apps.motion.linking`.
    device : {"auto", "cpu", "cuda"}
        Where assignments are solved.
    progress : callable, optional
        Wraps the frames gone through, as tqdm does.

    Returns
    -------
    Tracks

    Raises
    ------
    InputError
        Arguments out of range; positions that are not finite, or not (N, d).
    """
    check_search_range(search_range, "search_range")
    if linker not in ("assignment", "greedy", "mutual"):
        raise InputError(f"linker must be assignment, greedy or mutual, got {linker!r}")
    check_number(memory, "memory", whole=True)
    if memory < 0:
        raise InputError(f"memory must be 0 or more frames, got {memory}")
    detections = detections if isinstance(detections, Detections) else from_frames(detections)
    check_detections(detections)
    order = np.argsort(detections.frame, kind="stable")
    frames, first = np.unique(detections.frame[order], return_index=True)
    active = ActiveTracks(detections.position.shape[1], predict)
    track_of = np.zeros(len(order), np.int64)
    links, margins = [], []
    counts = {"frames": len(frames), "candidates": 0, "unlinked_in_range": 0, "contested": 0}
    unmatched_cost = search_range**2 * (1 + 1e-9)  # a pair at exactly the reach is linked rather than not
    n_tracks = 0
    steps = list(zip(frames, np.split(order, first[1:]), strict=True)) if len(order) else []
    for frame, found in progress(steps) if progress else steps:
        position = detections.position[found]
        active.prune(frame, memory)
        active.predict(frame, position, search_range)
        pairs = pairs_in_range(active.expected, position, search_range)
        chosen = link(*pairs, (len(active.detection), len(found)), unmatched_cost, linker, device)
        linked, taken = pairs[0][chosen.pair], pairs[1][chosen.pair]
        _count(counts, *pairs, len(linked))
        links.append(np.column_stack([active.detection[linked], found[taken]]))
        margins.append(chosen.margin)
        track_of[found[taken]] = track_of[active.detection[linked]]
        new = np.setdiff1d(np.arange(len(found)), taken)
        track_of[found[new]] = n_tracks + np.arange(len(new))
        n_tracks += len(new)
        active.update(frame, position, found, linked, taken, new)
    links = np.concatenate(links) if links else np.zeros((0, 2), np.int64)
    return Tracks(detections, track_of, links, np.concatenate(margins) if margins else np.zeros(0), counts)


def from_frames(frames) -> Detections:
    """Detections of arrays (n, d), one for each frame."""
    try:
        arrays = [np.asarray(points, np.float64) for points in frames]
    except (TypeError, ValueError) as error:
        raise InputError(f"detections must be Detections, or arrays (n, d) of numbers, one a frame ({error})") from None
    width = {points.shape[1] for points in arrays if points.ndim == 2 and len(points)}
    if len(width) > 1 or any(points.ndim != 2 and points.size for points in arrays):
        raise InputError(f"detections must be arrays (n, d) of one d, got shapes {sorted({a.shape for a in arrays})}")
    d = width.pop() if width else 2
    full = [points if points.size else np.zeros((0, d)) for points in arrays]
    frame = np.repeat(np.arange(len(full)), [len(points) for points in full])
    return Detections(frame, np.concatenate(full) if full else np.zeros((0, d)))


def keep_long(tracks: Tracks, min_length: int) -> Tracks:
    """Tracks seen at least `least` times, numbered anew; the counts stay those of all."""
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
        tracks.counts,
    )


def default_search_range(detections: Detections) -> float:
    """Half the median distance between neighbours in a frame, the longest reach at which most links are plain.

    InputError if no frame holds two points.
    """
    from scipy.spatial import cKDTree

    frames, count = np.unique(detections.frame, return_counts=True)
    spacing = []
    for frame in frames[count > 1][:50]:
        points = detections.position[detections.frame == frame]
        spacing.append(cKDTree(points).query(points, 2)[0][:, 1])
    if not spacing or not np.median(np.concatenate(spacing)):
        raise InputError("the search range cannot be told from frames of one point each; pass --search-range PIXELS")
    return float(np.median(np.concatenate(spacing)) / 2)


def _count(counts: dict, row, col, cost, links: int) -> None:
    counts["candidates"] += len(row)
    if not len(row):
        return
    order = np.lexsort((cost, row))
    tried, first = np.unique(row[order], return_index=True)
    nearest = col[order[first]]
    counts["unlinked_in_range"] += len(tried) - links
    counts["contested"] += int((np.bincount(nearest)[nearest] > 1).sum())


def check_search_range(search_range, name: str) -> None:
    """InputError unless this is a length above 0, and small enough for exact costs."""
    check_number(search_range, name)
    if not 0 < search_range < np.inf:
        raise InputError(f"{name} must be above 0 pixels, got {search_range}")
    if search_range > MAX_COORDINATE:
        raise InputError(f"{name} must be at most {MAX_COORDINATE:g} pixels, got {search_range}")


def check_detections(detections: Detections) -> None:
    """InputError for arrays that do not go together, and for positions that are not finite or too far away."""
    position, frame = detections.position, detections.frame
    if position.ndim != 2 or frame.shape != position.shape[:1]:
        raise InputError(
            f"detections need frame (N,) and position (N, d), got shapes {frame.shape} and {position.shape}"
        )
    if frame.dtype.kind not in "iu":
        raise InputError(f"detections need whole frame numbers, got {frame.dtype}")
    if not np.isfinite(position).all():
        bad = int(np.flatnonzero(~np.isfinite(position).all(axis=1))[0])
        raise InputError(f"detections need finite positions; number {bad} is {position[bad].tolist()}")
    if (is_far := np.abs(position) > MAX_COORDINATE).any():
        bad = int(np.flatnonzero(is_far.any(axis=1))[0])
        raise InputError(
            f"detections need positions up to {MAX_COORDINATE:g}; number {bad} is {position[bad].tolist()}"
        )
