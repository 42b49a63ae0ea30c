"""`python -m benchmarks follow`: given points followed through frames, against Lucas-Kanade tracking of OpenCV.

Clips are those of benchmarks/flow_clip.py with noise: a photograph turns and grows, a disc of another one circles in
front of it; "every 4th" has four times the motion.  "corners" are the strongest of the first frame, "random" are
uniformly distributed.  With a folder of frame pairs (--data, as of `python -m benchmarks flow`), also corners of each
pair where the true flow is known; what is hidden there is not known.

    within 1 px   share of the points called seen that are within 1 pixel of the truth, where they are visible
    lost          share of the visible points that are not called seen
    false seen    share of the points that are hidden, or have left the frame, that are called seen

OpenCV's points are seen until they do not track back within 1 pixel.  The last table has the errors of cutmatch by its
confidence.  ms: processor time per frame.
"""

import time

import cv2
import numpy as np

from apps.tracking.follow import SEEN, follow
from benchmarks import command
from benchmarks.flow import load
from benchmarks.flow_clip import HEIGHT, WIDTH, clip, followed
from benchmarks.table import markdown

NOISE = 2.0  # grey levels
CLIPS = {"2 frames": (2, 1), "50 frames": (50, 1), "2 frames, every 4th": (2, 4), "25 frames, every 4th": (25, 4)}
MAX_RETURN = 1.0  # pixels, of OpenCV's tracks
CONFIDENCES = (0, 0.95, 0.98, 0.99, 1.01)
COLUMNS = ["frames", "points", "method", "within 1 px %", "within 3 px %", "lost %", "false seen %", "ms a frame"]


def main(argv):
    parser = command.parser("follow", __doc__, "follow-cpu", data="CUTMATCH_FLOW_DATA")
    parser.add_argument("--points", type=int, default=1000, metavar="N", help="number of points (default: 1000)")
    options = parser.parse_args(argv)
    report = command.begin("Given points", ["opencv-python-headless", "numba", "numpy"])
    sequences = list(clips(options.points))
    if options.data:
        sequences += known_pairs(command.data_folder(options), options.points)
    ours(sequences[0][2][:2], sequences[0][3])  # compiles
    steps: list[tuple] = []
    rows = command.shown(row for sequence in sequences for row in rows_of(*sequence, steps))
    text = f"{markdown(COLUMNS, rows)}\n\n{markdown(*by_confidence(steps))}"
    return command.finish(report, text, options.save)


def clips(count):
    """Name, kind of points, frames, points (N, 2), true positions (T, N, 2), visibility (T, N) of each clip."""
    rng = np.random.default_rng(0)
    whole = clip(max((length - 1) * stride + 1 for length, stride in CLIPS.values()))[0]
    for name, (length, stride) in CLIPS.items():
        numbers = range(0, length * stride, stride)
        frames = [np.clip(whole[n] + rng.normal(0, NOISE, whole[n].shape), 0, 255).astype(np.uint8) for n in numbers]
        for kind, points in (
            ("corners", corners_of(frames[0], count)),
            ("random", rng.uniform(0, (WIDTH - 1, HEIGHT - 1), (count, 2))),
        ):
            yield name, kind, frames, points, *map(np.stack, zip(*(followed(points, n) for n in numbers), strict=True))


def known_pairs(data, count):
    """The same of pairs of true flow; points where it is not known are left out."""
    for case in load(data):
        points = corners_of(case.first, count)
        x, y = np.rint(points).astype(int).T
        points, motion = points[case.known[y, x]], case.truth[y, x][case.known[y, x]]
        true = np.stack([points, points + motion])
        inside = ((true >= 0) & (true <= (case.known.shape[1] - 1, case.known.shape[0] - 1))).all(axis=2)
        yield case.name, "corners", [case.first, case.second], points, true, inside


def corners_of(frame, count):
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    return cv2.goodFeaturesToTrack(grey, count, 1e-4, 5).reshape(-1, 2).astype(np.float64)


def ours(frames, points):
    found = follow(frames, points, device="cpu")
    return found.position, found.state == SEEN, found.confidence


def lucas_kanade(frames, points):
    grey = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in frames]
    place, seen = points.astype(np.float32), np.ones(len(points), bool)
    positions, states = [points], [seen]
    for first, second in zip(grey, grey[1:], strict=False):
        moved, found, _ = cv2.calcOpticalFlowPyrLK(first, second, place, None)
        back, found_back, _ = cv2.calcOpticalFlowPyrLK(second, first, moved, None)
        returns = np.linalg.norm(back - place, axis=1) < MAX_RETURN
        seen = seen & returns & (found.ravel() > 0) & (found_back.ravel() > 0)
        place = moved
        positions.append(place)
        states.append(seen)
    return np.array(positions, np.float64), np.array(states), None


METHODS = {"cutmatch": ours, "cv2 calcOpticalFlowPyrLK": lucas_kanade}


def rows_of(name, kind, frames, points, true, visible, steps):
    for method, run in METHODS.items():
        begin = time.process_time()
        position, seen, confidence = run(frames, points)
        taken = (time.process_time() - begin) / (len(frames) - 1)
        error, shown, hidden = np.linalg.norm(position - true, axis=2)[1:], (seen & visible)[1:], ~visible[1:]
        if confidence is not None:
            steps.append((confidence[1:][shown], error[shown]))
        wrong = f"{100 * seen[1:][hidden].mean():.1f}" if hidden.any() else ""
        lost = 1 - shown.sum() / visible[1:].sum()
        shares = (f"{100 * share:.1f}" for share in ((error[shown] < 1).mean(), (error[shown] < 3).mean(), lost))
        yield [name, f"{len(points)} {kind}", method, *shares, wrong, f"{1000 * taken:.0f}"]


def by_confidence(steps):
    """Columns and rows: how right positions of each range of confidence are, over all frames and pairs."""
    confidence, error = map(np.concatenate, zip(*steps, strict=True))
    rows = []
    for low, high in zip(CONFIDENCES, CONFIDENCES[1:], strict=False):
        which = (confidence >= low) & (confidence < high)
        if which.any():
            shares = (f"{100 * (error[which] < limit).mean():.1f}" for limit in (1, 3))
            rows.append([f"{low:g} to {min(high, 1):g}", str(which.sum()), *shares])
    return ["confidence", "positions", "within 1 px %", "within 3 px %"], rows
