"""Tracks between two frames: where each was last seen, how fast it goes, and where to expect it next."""

import numpy as np

FOLLOWED = 0.5  # share of the newest displacement in a track's velocity; the rest is the velocity before
NEIGHBOURS = 5  # tracks whose velocity a new track borrows
SHARED = 3.0  # times the reach that a motion all share may be long


class Living:
    """Tracks that may still be linked: where and when each was last seen, where to expect it, its last detection."""

    def __init__(self, d: int, predict):
        self.predict = predict if callable(predict) else None
        self.coasting = bool(predict) and self.predict is None  # goes on at its velocity
        self.place, self.expected, self.velocity = (np.zeros((0, d)) for _ in range(3))
        self.seen, self.row = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.moved = np.zeros(0, bool)  # has been linked: its velocity is its own

    def forget(self, frame: int, memory: int) -> None:
        """Let go of tracks that have missed more than `memory` frames."""
        self._keep(frame - self.seen <= memory + 1)

    def expect(self, frame: int, found, search_range: float) -> None:
        """Predict where tracks are in a frame, whose detections (n, d) are `found`."""
        if self.predict is not None:
            self.expected = self.predict(frame, self.expected)
        elif self.coasting:
            if not self.moved.any() and len(self.place):
                self.velocity[:] = shared_motion(self.place, found, search_range) / max(1, frame - self.seen.max())
            self.expected = self.place + self.velocity * (frame - self.seen)[:, None]

    def go_on(self, frame: int, place, found, linked, taken, new) -> None:
        """Tracks `linked` are seen at the detections `taken`; the detections `new` begin tracks."""
        begin = np.zeros((len(new), place.shape[1]))
        if self.coasting:
            speed = (place[taken] - self.place[linked]) / (frame - self.seen[linked])[:, None]
            share = np.where(self.moved[linked], FOLLOWED, 1.0)[:, None]
            self.velocity[linked] += share * (speed - self.velocity[linked])
            self.moved[linked] = True
            if len(new) and self.moved.any():
                begin = self._velocity_near(place[new])
        self.place[linked], self.expected[linked] = place[taken], place[taken]
        self.seen[linked], self.row[linked] = frame, found[taken]
        self.place = np.concatenate([self.place, place[new]])
        self.expected = np.concatenate([self.expected, place[new]])
        self.velocity = np.concatenate([self.velocity, begin])
        self.seen = np.concatenate([self.seen, np.full(len(new), frame)])
        self.row = np.concatenate([self.row, found[new]])
        self.moved = np.concatenate([self.moved, np.zeros(len(new), bool)])

    def _velocity_near(self, place) -> np.ndarray:
        """Median velocity of the nearest tracks that have one."""
        from scipy.spatial import cKDTree

        own = np.flatnonzero(self.moved)
        nearest = cKDTree(self.place[own]).query(place, min(NEIGHBOURS, len(own)))[1].reshape(len(place), -1)
        return np.median(self.velocity[own[nearest]], axis=1)

    def _keep(self, mask) -> None:
        for name in ("place", "expected", "velocity", "seen", "row", "moved"):
            setattr(self, name, getattr(self, name)[mask])


def near_pairs(first: np.ndarray, second: np.ndarray, search_range: float):
    """Pairs of points at most `reach` apart: their rows and columns, and the squares of their distances."""
    from scipy.spatial import cKDTree

    if not len(first) or not len(second):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    near = cKDTree(first).sparse_distance_matrix(cKDTree(second), search_range, output_type="ndarray")
    near = near[np.lexsort((near["j"], near["i"]))]
    row, col = near["i"].astype(np.int64), near["j"].astype(np.int64)
    return row, col, ((first[row] - second[col]) ** 2).sum(axis=1)


def shared_motion(first: np.ndarray, second: np.ndarray, search_range: float) -> np.ndarray:
    """The displacement (d,) that most points share, up to SHARED times the reach; 0 where none stands out.

    All displacements of pairs are points in a space of their own, where what is shared is a crowd.
    """
    from scipy.spatial import cKDTree

    row, col, _ = near_pairs(first, second, SHARED * search_range)
    step = second[col] - first[row]
    step = step[:: 1 + len(step) // 50_000]
    if not len(step):
        return np.zeros(first.shape[1])
    tree = cKDTree(step)
    crowd = tree.query_ball_point(step, search_range / 2, return_length=True)
    # Of the like steps of a lattice the shortest.
    best = int(np.argmax(crowd * (1 - 0.1 * np.linalg.norm(step, axis=1) / (SHARED * search_range))))
    by_chance = len(step) / (2 * SHARED) ** step.shape[1]
    if crowd[best] < max(3, 2 * by_chance):
        return np.zeros(first.shape[1])
    return step[tree.query_ball_point(step[best], search_range / 2)].mean(axis=0)
