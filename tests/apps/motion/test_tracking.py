"""Links against known identities, against SciPy's assignment, and against trackpy if it is installed."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from apps.common.images import InputError
from apps.tracking.active_tracks import shared_motion
from apps.tracking.global_links import GAP_COST
from apps.tracking.tracking import Detections, track


def world(seed, count=200, frames=12, size=250.0, step=1.0, speed=0.0, seen=1.0):
    """Particles that wander, in shuffled order: detections and whose each one is."""
    rng = np.random.default_rng(seed)
    place, velocity = rng.uniform(0, size, (count, 2)), rng.normal(0, 1, (count, 2)) * speed
    frame, position, identity = [], [], []
    for t in range(frames):
        shown = rng.permutation(np.flatnonzero(rng.uniform(size=count) < seen))
        frame.append(np.full(len(shown), t))
        position.append(place[shown])
        identity.append(shown)
        place = place + velocity + rng.normal(0, step, place.shape)
    return Detections(np.concatenate(frame), np.concatenate(position)), np.concatenate(identity)


def right_links(tracks, identity):
    return int((identity[tracks.link[:, 0]] == identity[tracks.link[:, 1]]).sum())


def true_links(detections, identity):
    order = np.lexsort((detections.frame, identity))
    return int((np.diff(identity[order]) == 0).sum())


def assert_consistent(tracks):
    """One-to-one, later after earlier, and track numbers that say the same as the links."""
    frame = tracks.detections.frame
    first, second = tracks.link.T
    assert len(np.unique(first)) == len(first)
    assert len(np.unique(second)) == len(second)
    assert (frame[second] > frame[first]).all()
    assert (tracks.track[first] == tracks.track[second]).all()
    assert len(tracks.link) == len(tracks.detections) - len(tracks)
    key = tracks.track * (frame.max() + 1) + frame
    assert len(np.unique(key)) == len(key), "two detections of one frame in a track"


def test_far_apart_particles_keep_their_identity():
    detections, identity = world(0, count=60, size=600, step=0.7)
    tracks = track(detections, search_range=6)
    assert_consistent(tracks)
    assert len(tracks.link) == true_links(detections, identity) == right_links(tracks, identity)
    assert len(tracks) == 60
    assert (tracks.length == 12).all()
    assert tracks.margin.min() > 0


def test_least_sum_of_squares_against_scipy():
    """Every frame of a crowd: what the links cost, unlinked tracks at search_range^2, is SciPy's optimum."""
    for seed, search_range in ((1, 3.0), (2, 6.0), (3, 15.0)):
        rng = np.random.default_rng(seed)
        first, second = rng.uniform(0, 40, (30, 2)), rng.uniform(0, 40, (37, 2))
        tracks = track([first, second], search_range=search_range)
        cost = ((first[:, None] - second[None]) ** 2).sum(axis=2)
        cost[cost > search_range**2] = 1e9
        square = np.concatenate([cost, np.full((30, 30), search_range**2)], axis=1)
        best = square[linear_sum_assignment(square)].sum()
        linked = tracks.link[:, 0], tracks.link[:, 1] - 30
        ours = cost[linked].sum() + search_range**2 * (30 - len(tracks.link))
        assert ours == pytest.approx(best, rel=1e-9)
        assert_consistent(tracks)


def test_contested_detection_minimises_the_sum():
    """Each track's nearest is the same detection; linking to the nearest loses one of the two."""
    first = [[0.0, 0], [3, 0]]
    second = [[2.0, 0], [5.5, 0]]  # 3 -> 2 is the shortest, yet 0 -> 2, 3 -> 5.5 links both
    exact = track([first, second], search_range=4)
    assert exact.link.tolist() == [[0, 2], [1, 3]]


def test_crossing_tracks_need_their_velocity():
    t = np.arange(21.0)[:, None]
    up, down = np.hstack([2 * t, 2 * t]), np.hstack([2 * t, 40.5 - 2 * t])
    frames = [np.array([a, b]) for a, b in zip(up, down, strict=True)]
    crossed = track(frames, search_range=5, predict=True)
    assert crossed.track.tolist() == [0, 1] * 21
    assert track(frames, search_range=5).track.tolist() != [0, 1] * 21


def test_tracks_start_and_end():
    frames = [[[0, 0]], [[0, 1], [50, 50]], [[50, 51], [0, 2]], [[50, 52]], [[50, 53], [0, 5]]]
    tracks = track(frames, search_range=4)
    assert tracks.track.tolist() == [0, 0, 1, 1, 0, 1, 1, 2]


@pytest.mark.parametrize(("memory", "tracks"), [(0, 2), (1, 2), (2, 1), (5, 1)])
def test_blinking_needs_memory(memory, tracks):
    there = [[10.0, 10]]
    frames = [there, there, np.zeros((0, 2)), np.zeros((0, 2)), there]
    found = track(frames, search_range=3, memory=memory)
    assert len(found) == tracks
    assert_consistent(found)


def links_of_trackpy(trackpy, detections, search_range, memory):
    import pandas

    table = pandas.DataFrame(
        {"frame": detections.frame, "x": detections.position[:, 0], "y": detections.position[:, 1]}
    )
    table["row"] = np.arange(len(table))
    trackpy.quiet()
    linked = trackpy.link(table, search_range, memory=memory).sort_values(["particle", "frame"])
    row, particle = linked["row"].to_numpy(), linked["particle"].to_numpy()
    same = particle[1:] == particle[:-1]
    return set(zip(row[:-1][same].tolist(), row[1:][same].tolist(), strict=True))


@pytest.mark.parametrize(("search_range", "memory"), [(4, 0), (7, 0), (5, 2)])
def test_links_are_those_of_trackpy(search_range, memory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trackpy = pytest.importorskip("trackpy")
        detections, _ = world(6, count=150, step=1.2, seen=0.9)
        theirs = links_of_trackpy(trackpy, detections, search_range, memory)
    ours = set(map(tuple, track(detections, search_range=search_range, memory=memory).link.tolist()))
    assert ours == theirs


def test_global_links_have_the_minimum_total_cost():
    """By SciPy's assignment of all ends to all starts, on a matrix twice as wide."""
    detections, _ = world(4, count=12, frames=8, size=30, seen=0.8)
    search_range, memory, n = 4.0, 2, len(detections)
    tracks = track(detections, search_range=search_range, memory=memory, linker="global")
    assert_consistent(tracks)
    gap = detections.frame - detections.frame[:, None] - 1
    square = ((detections.position[:, None] - detections.position) ** 2).sum(axis=2)
    allowed = (gap >= 0) & (gap <= memory) & (square <= search_range**2)
    skipped = np.where(gap > 0, GAP_COST * (1 + np.log2(np.maximum(gap, 1))), 0)
    cost = np.where(allowed, square + skipped * search_range**2, np.inf)
    alone = np.full((n, n), np.inf)
    np.fill_diagonal(alone, search_range**2)
    both = np.hstack([cost, alone])
    total = cost[tuple(tracks.link.T)].sum() + (n - len(tracks.link)) * search_range**2
    assert total == pytest.approx(both[linear_sum_assignment(both)].sum())
    assert (gap[tuple(tracks.link.T)] > 0).any()
    assert (np.diff(detections.frame[tracks.link[:, 1]]) >= 0).all()


@pytest.mark.parametrize(
    ("detections", "options", "message"),
    [
        ([[[0, 0]]], {"search_range": 0}, "search_range must be above 0 pixels, got 0"),
        ([[[0, 0]]], {"search_range": -2.5}, "search_range must be above 0 pixels, got -2.5"),
        ([[[0, 0]]], {"search_range": np.nan}, "search_range must be above 0"),
        ([[[0, 0]]], {"search_range": 1, "memory": -1}, "memory must be 0 or more frames, got -1"),
        (
            [[[0, 0]]],
            {"search_range": 1, "linker": "nearest"},
            "linker must be assignment, global, got 'nearest'",
        ),
        (
            [[[0, 0]]],
            {"search_range": 1, "linker": "global", "predict": True},
            "without prediction; omit predict, got True",
        ),
        ([[[0, np.nan]]], {"search_range": 1}, "number 0: y is nan, expected a finite number"),
        ([[0, 0]], {"search_range": 1}, r"arrays \(n, d\)"),
        ([[[0, 0]], [[0, 0, 0]]], {"search_range": 1}, r"arrays \(n, d\) with the same d"),
        (Detections(np.zeros(3, int), np.zeros((2, 2))), {"search_range": 1}, r"got shapes \(3,\) and \(2, 2\)"),
        (Detections(np.array([0.5]), np.zeros((1, 2))), {"search_range": 1}, "integer frame numbers, got float64"),
    ],
)
def test_bad_arguments(detections, options, message):
    with pytest.raises(InputError, match=message):
        track(detections, **options)


def test_drift_longer_than_the_search_range():
    """The shared motion is estimated before the first link, although a tenth of the points appear and vanish."""
    rng = np.random.default_rng(8)
    first = rng.uniform(0, 300, (300, 2))
    frames = [
        np.concatenate([first[15:], rng.uniform(0, 300, (15, 2))]) + rng.normal(0, 0.3, (300, 2)) for _ in range(4)
    ]
    frames = [frame + t * np.array([11.0, -4]) for t, frame in enumerate(frames)]
    tracks = track(frames, search_range=6, predict=True)
    kept = tracks.link[(tracks.link % 300 < 285).all(axis=1)]
    assert len(kept) > 3 * 280
    assert (kept[:, 0] % 300 == kept[:, 1] % 300).mean() > 0.98
    assert shared_motion(frames[0], frames[1], 6.0) == pytest.approx([11, -4], abs=0.3)
