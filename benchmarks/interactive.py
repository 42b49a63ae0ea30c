"""`python -m benchmarks interactive`: clicks that a robot user needs, and the seconds of each.

With --latency instead seconds and memory of strokes by size (benchmarks/interactive_latency.py), without data.

Needs a folder of images with ground truth (--data, or CUTMATCH_DATA in the environment): grabcut/images, grabcut/gt.

The robot marks a disc of RADIUS pixels in the middle of the largest wrong region, as object or as background, until the
intersection over union reaches the goal; after MOST clicks it gives up, which counts as MOST.  The undecided band of
the ground truth does not count.

--pair      the first two marks are one on the object and one on the background, both counted
--strokes   straight strokes instead of discs: the longest segment through that point that keeps half of its distance
            from correct pixels
session    apps.Session; each click waits for the models that are fitted in the background
segment    apps.segment on all marks so far, from nothing
grabCut    cv2.grabCut on all marks so far, five iterations; until the background is marked, all is object
"""

import argparse
import time

import cv2
import numba
import numpy as np

from apps.common.images import InputError, read_image
from apps.run.inputs import find_by_stem
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.mask_scores import read_truth
from apps.session import Session
from benchmarks import command, interactive_latency
from benchmarks.segment import grabcut, ours
from benchmarks.table import markdown

RADIUS = 5
MOST = 20
GOALS = (0.85, 0.9)
TABLE, LATENCY_TABLE = "interactive-cpu", "interactive-latency"
MIN_MARKS = 3  # the first later stroke is the third
OBJECT_OF_TRUTH, UNDECIDED = 255, 128


def main(argv):
    options = _parser().parse_args(argv)
    if options.latency:
        found = interactive_latency.report(options.marks, options.device)
        table = LATENCY_TABLE + ("-cuda" if options.device == "cuda" else "")
        return command.finish(*found, table if options.save == TABLE else options.save)
    data = command.data_folder(options)
    numba.set_num_threads(1)
    cv2.setNumThreads(1)
    mark = "strokes" if options.strokes else "clicks"
    pair = ", the first two given" if options.pair else ""
    report = command.begin(f"{mark.capitalize()} of a robot user{pair}", ["opencv-python-headless", "numba", "numpy"])
    paths = sorted((data / "grabcut" / "images").glob("*"))
    if not paths:
        print(f"no images in {data / 'grabcut' / 'images'}")
        return 0
    rows = command.shown(
        row(name, [clicks(user_of, *_case(data, path), options.pair, options.strokes) for path in paths])
        for name, user_of in METHODS.items()
    )
    columns = ["method", "images", f"{mark} to 85 %", f"{mark} to 90 %", "not reached"]
    columns += ["median s", "median s complete"]
    return command.finish(report, "\n" + markdown(columns, rows), options.save)


def _case(data, path):
    truth = read_truth(find_by_stem(data / "grabcut" / "gt", path.stem, "truth"))
    return read_image(path), truth


class SessionUser:
    """Clicks in a session."""

    def __init__(self, rgb):
        self._session = Session(rgb, device="cpu")

    def mark(self, points, label):
        """Seconds until the mark is answered, and until nothing is pending, and the mask."""
        start = time.perf_counter()
        self._session.stroke(np.array(points) + 0.5, RADIUS, label)
        answered = time.perf_counter()
        self._session.wait()
        done = time.perf_counter()
        self._session.result()  # raises unless the cut is certified
        return answered - start, done - start, self._session.mask

    def close(self):
        self._session.close()


class MarksUser:
    """Clicks as marks, for a function of an image and its marks that starts from nothing.

    needs   kinds of marks without which it is not called
    """

    def __init__(self, rgb, method, needs=(OBJECT,)):
        self._rgb, self._method, self._needs = rgb, method, needs
        self._marks = np.full(rgb.shape[:2], OPEN, np.int8)

    def mark(self, points, label):
        """As of `SessionUser`."""
        away = np.ones(self._marks.shape, np.uint8)
        cv2.line(away, points[0], points[-1], 0)
        self._marks[cv2.distanceTransform(away, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) <= RADIUS] = (
            OBJECT if label else BACKGROUND
        )
        start = time.perf_counter()
        if not all((self._marks == kind).any() for kind in self._needs):
            mask = np.full(self._marks.shape, (self._marks == OBJECT).any())
        else:
            try:
                mask = self._method(self._rgb, self._marks)
            except (cv2.error, InputError):
                mask = self._marks == OBJECT
        seconds = time.perf_counter() - start
        return seconds, seconds, mask

    def close(self):
        """Nothing is kept."""


METHODS = {
    "session": SessionUser,
    "segment": lambda rgb: MarksUser(rgb, ours),
    "cv2.grabCut": lambda rgb: MarksUser(rgb, grabcut, needs=(OBJECT, BACKGROUND)),
}


def clicks(user_of, rgb, truth, pair=False, strokes=False):
    """Intersection over union and both times after each mark, up to the last goal."""
    user = user_of(rgb)
    mask = np.zeros(truth.shape, bool)
    history = []
    for count in range(MOST):
        wrong = (truth == (0, OBJECT_OF_TRUTH)[count == 0]) if pair and count < 2 else largest_error(mask, truth)
        points = segment_through_middle(wrong) if strokes else [middle(wrong)]
        x, y = points[0]
        *seconds, mask = user.mark(points, int(truth[y, x] == OBJECT_OF_TRUTH))
        history.append((intersection_over_union(mask, truth), *seconds))
        if history[-1][0] >= GOALS[-1] and not (pair and count < 1):
            break
    user.close()
    return history


def largest_error(mask, truth):
    """The largest connected region of one kind of wrong pixels, bool (H, W)."""
    regions = []
    for value, wrong_as in ((OBJECT_OF_TRUTH, False), (0, True)):
        wrong = ((truth == value) & (mask == wrong_as)).astype(np.uint8)
        _, part, stats, _ = cv2.connectedComponentsWithStats(wrong, connectivity=4)
        if len(stats) > 1:
            largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
            regions.append((int(stats[largest, cv2.CC_STAT_AREA]), part == largest))
    return max(regions, key=lambda one: one[0])[1]


def middle(region):
    """The point x, y of a region that is farthest from other pixels and from the image's edge."""
    depth = _depth(region)
    y, x = np.unravel_index(np.argmax(depth), depth.shape)
    return int(x), int(y)


def segment_through_middle(region, directions=16):
    """Both ends of the longest segment through the middle whose pixels have at least half of its depth."""
    depth = _depth(region)
    deep = depth >= depth.max() / 2
    centre = np.array(middle(region))
    best = [centre, centre]
    for angle in np.arange(directions) * np.pi / directions:
        step = np.array((np.cos(angle), np.sin(angle)))
        ends = [_last_inside(deep, centre, way * step) for way in (-1, 1)]
        if np.linalg.norm(ends[1] - ends[0]) > np.linalg.norm(best[1] - best[0]):
            best = ends
    return [(int(x), int(y)) for x, y in best]


def _last_inside(deep, centre, step):
    """The last pixel x, y before a ray from the centre leaves a region."""
    last, count = centre, 1
    while True:
        x, y = at = np.rint(centre + count * step).astype(int)
        if not (0 <= y < deep.shape[0] and 0 <= x < deep.shape[1] and deep[y, x]):
            return last
        last, count = at, count + 1


def _depth(region):
    """Distance of each pixel of a region from other pixels and from the image's edge."""
    return cv2.distanceTransform(np.pad(region.astype(np.uint8), 1), cv2.DIST_L2, 5)[1:-1, 1:-1]


def row(name, histories):
    """Means over the images."""
    needed = [[next((k for k, one in enumerate(h, 1) if one[0] >= goal), MOST) for h in histories] for goal in GOALS]
    missed = sum(history[-1][0] < GOALS[-1] for history in histories)
    times = np.array([one[1:] for history in histories for one in history])
    medians = [f"{seconds:.3f}" for seconds in np.median(times, axis=0)]
    return [name, str(len(histories)), *(f"{np.mean(counts):.2f}" for counts in needed), str(missed), *medians]


def intersection_over_union(mask, truth):
    decided = truth != UNDECIDED
    wanted = truth == OBJECT_OF_TRUTH
    return np.count_nonzero(mask & wanted) / max(1, np.count_nonzero((mask | wanted) & decided))


def _parser():
    parser = command.parser("interactive", __doc__, TABLE, data="CUTMATCH_DATA")
    parser.add_argument("--pair", action="store_true", help="start with one mark on the object, one on the background")
    parser.add_argument("--strokes", action="store_true", help="straight strokes instead of discs")
    parser.add_argument("--latency", action="store_true", help="seconds and memory of strokes by size instead")
    parser.add_argument("--marks", type=_marks, default=12, metavar="N", help="strokes of --latency (default: 12)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of --latency (default: cpu)")
    return parser


def _marks(text):
    count = int(text)
    if count < MIN_MARKS:
        raise argparse.ArgumentTypeError(f"must be at least {MIN_MARKS}, got {count}")
    return count
