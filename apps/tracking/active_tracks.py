"""Active tracks: last position, velocity and predicted position of every track that may still be linked."""

import numpy as np

VELOCITY_GAIN = 0.5  # weight of the newest displacement in the running mean of a track's velocity
NEIGHBOURS = 5  # tracks whose median velocity initialises a new track
MAX_SHARED_MOTION = 3.0  # largest motion shared by all points, in search ranges


class ActiveTracks:
    """Tracks that may still be linked: last position, frame and detection, velocity, and predicted position of each."""

    def __init__(self, d: int, predict):
        self.predictor = predict if callable(predict) else None
        self.constant_velocity = bool(predict) and self.predictor is None  # predict by each track's velocity
        self.position, self.expected, self.velocity = (np.zeros((0, d)) for _ in range(3))
        self.last_frame, self.detection = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.has_velocity = np.zeros(0, bool)  # has been linked; its velocity is measured

    def prune(self, frame: int, memory: int) -> None:
        """Remove tracks that have been lost for more than `memory` frames."""
        self._keep(frame - self.last_frame <= memory + 1)

    def predict(self, frame: int, found, search_range: float) -> None:
        """Predict the positions of the tracks in a frame with the detections `found` (n, d)."""
        if self.predictor is not None:
            self.expected = self.predictor(frame, self.expected)
        elif self.constant_velocity:
            if not self.has_velocity.any() and len(self.position):
                self.velocity[:] = shared_motion(self.position, found, search_range) / max(
                    1, frame - self.last_frame.max()
                )
            self.expected = self.position + self.velocity * (frame - self.last_frame)[:, None]

    def update(self, frame: int, position, found, linked, taken, new) -> None:
        """Append the detections `taken` to the tracks `linked`, and start tracks at the detections `new`."""
        initial = np.zeros((len(new), position.shape[1]))
        if self.constant_velocity:
            speed = (position[taken] - self.position[linked]) / (frame - self.last_frame[linked])[:, None]
            share = np.where(self.has_velocity[linked], VELOCITY_GAIN, 1.0)[:, None]
            self.velocity[linked] += share * (speed - self.velocity[linked])
            self.has_velocity[linked] = True
            if len(new) and self.has_velocity.any():
                initial = self._neighbour_velocity(position[new])
        self.position[linked], self.expected[linked] = position[taken], position[taken]
        self.last_frame[linked], self.detection[linked] = frame, found[taken]
        self.position = np.concatenate([self.position, position[new]])
        self.expected = np.concatenate([self.expected, position[new]])
        self.velocity = np.concatenate([self.velocity, initial])
        self.last_frame = np.concatenate([self.last_frame, np.full(len(new), frame)])
        self.detection = np.concatenate([self.detection, found[new]])
        self.has_velocity = np.concatenate([self.has_velocity, np.zeros(len(new), bool)])

    def _neighbour_velocity(self, position) -> np.ndarray:
        """Return the median velocity of the nearest tracks that have one."""
        from scipy.spatial import cKDTree

        own = np.flatnonzero(self.has_velocity)
        nearest = cKDTree(self.position[own]).query(position, min(NEIGHBOURS, len(own)))[1].reshape(len(position), -1)
        return np.median(self.velocity[own[nearest]], axis=1)

    def _keep(self, mask) -> None:
        for name in ("position", "expected", "velocity", "last_frame", "detection", "has_velocity"):
            setattr(self, name, getattr(self, name)[mask])


def pairs_in_range(first: np.ndarray, second: np.ndarray, search_range: float):
    """Return rows, columns and squared distances of pairs of points within `search_range` of each other."""
    from scipy.spatial import cKDTree

    if not len(first) or not len(second):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    near = cKDTree(first).sparse_distance_matrix(cKDTree(second), search_range, output_type="ndarray")
    near = near[np.lexsort((near["j"], near["i"]))]
    row, col = near["i"].astype(np.int64), near["j"].astype(np.int64)
    return row, col, ((first[row] - second[col]) ** 2).sum(axis=1)


def shared_motion(first: np.ndarray, second: np.ndarray, search_range: float) -> np.ndarray:
    """Return the displacement (d,) shared by most points, up to MAX_SHARED_MOTION search ranges; 0 if none stands out.

    It is the mode of the displacements of all pairs of points.
    """
    from scipy.spatial import cKDTree

    row, col, _ = pairs_in_range(first, second, MAX_SHARED_MOTION * search_range)
    step = second[col] - first[row]
    step = step[:: 1 + len(step) // 50_000]
    if not len(step):
        return np.zeros(first.shape[1])
    tree = cKDTree(step)
    neighbours = tree.query_ball_point(step, search_range / 2, return_length=True)
    # Of the equally frequent displacements of a lattice, prefer the shortest.
    best = int(np.argmax(neighbours * (1 - 0.1 * np.linalg.norm(step, axis=1) / (MAX_SHARED_MOTION * search_range))))
    expected_count = len(step) / (2 * MAX_SHARED_MOTION) ** step.shape[1]
    if neighbours[best] < max(3, 2 * expected_count):
        return np.zeros(first.shape[1])
    return step[tree.query_ball_point(step[best], search_range / 2)].mean(axis=0)
