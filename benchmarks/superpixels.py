"""`python -m benchmarks superpixels`: how well regions follow true outlines, against SLIC and Felzenszwalb.

Needs a folder of images with ground truth (--data, or CUTMATCH_DATA in the environment):

    grabcut/images  grabcut/gt  coopcuts/images  coopcuts/groundtruth

recall %    boundary pixels of the truth with a region's boundary within 2 pixels (Euclidean) [1]
error %     under-segmentation error: pixels that leak out of the truth's segments; for each segment and region that
            overlap, the smaller of the region's parts inside and outside the segment is counted [2]
outline %   pixels on the regions' boundaries: more of them raise recall
made        regions, on average

All are means over images; the undecided band of the ground truth is not an error and its middle is the true boundary.
SLIC makes fewer regions than requested, so it runs twice: as requested ("slic 10": compactness 10, the default), and
with larger requests until the number is within 2 % ("slic 10, filled up").  Felzenszwalb's scale is bisected to the
same end.
Seconds are those of the last run alone.  All on one thread, alternately on each image, after one untimed call.

[1] Stutz, Hermans, Leibe. "Superpixels: an evaluation of the state-of-the-art." CVIU 166, 2018.
[2] Neubert, Protzel. "Superpixel benchmark and comparison." Forum Bildverarbeitung 2012.
"""

from typing import NamedTuple

import cv2
import numba
import numpy as np
from scipy import ndimage
from skimage.segmentation import felzenszwalb, find_boundaries, slic

from apps import superpixels
from apps.common.images import read_codes, read_image
from apps.run.inputs import find_by_stem
from benchmarks import command
from benchmarks.table import markdown
from benchmarks.timing import timed

TRUTHS = {"grabcut": "gt", "coopcuts": "groundtruth"}
COMPACTNESS = (10, 20, 30)
TRIALS = 12
NEAR_ENOUGH = 0.02
BOUNDARY_TOLERANCE = 2  # pixels
UNDECIDED = -1


def main(argv):
    options = _parser().parse_args(argv)
    data = command.data_folder(options)
    numba.set_num_threads(1)
    cv2.setNumThreads(1)
    report = command.begin("Superpixels against SLIC and Felzenszwalb", ["scikit-image", "numba", "numpy"])
    rows = []
    for base in TRUTHS:
        cases = list(load(data, base))
        if not cases:
            print(f"{base}: no images in {data}")
            continue
        for count in options.regions:
            rows += command.shown(measure(base, cases, count))
    columns = ["images", "method", "number", "asked", "made", "recall %", "least %", "error %", "outline %", "s"]
    lines = ["", markdown(columns, rows)]
    return command.finish(report, "\n".join(lines), options.save)


def load(data, base):
    """Images of one set: name, RGB in [0, 1], true segments."""
    for path in sorted((data / base / "images").glob("*")):
        truth = find_by_stem(data / base / TRUTHS[base], path.stem, "truth")
        yield path.stem, read_image(path), read_segments(truth)


class RegionScores(NamedTuple):
    """Percentages; pixels that are undecided in the ground truth count for no error."""

    boundary_recall: float
    undersegmentation_error: float
    boundary_pixels: float


def read_segments(path):
    """The segments of a mask of 0 and 255, as int32 (H, W), -1 where it is 128."""
    return np.int32([0, UNDECIDED, 1])[np.digitize(read_codes(path, "--truth"), (128, 129))]


def score_regions(labels, truth):
    """Compare regions with segments, both (H, W); for the recall, undecided pixels join the nearest segment."""
    undecided = truth == UNDECIDED
    nearest = ndimage.distance_transform_edt(undecided, return_distances=False, return_indices=True)
    wanted, found = find_boundaries(truth[tuple(nearest)], 1), find_boundaries(labels, 1)
    near = ndimage.distance_transform_edt(~found) <= BOUNDARY_TOLERANCE
    region = labels[~undecided].astype(np.int64)
    pair, shared = np.unique(2 * region + truth[~undecided], return_counts=True)
    leaked = np.minimum(shared, np.bincount(pair // 2, shared)[pair // 2] - shared).sum() / region.size
    return RegionScores(100.0 * near[wanted].mean(), 100.0 * leaked, 100.0 * found.mean())


def ours(rgb, count):
    return timed(lambda: superpixels(rgb, count).labels)


def slic_as_asked(rgb, count, compactness):
    return timed(lambda: slic(rgb, count, compactness=compactness, start_label=0))


def slic_filled_up(rgb, count, compactness):
    """Request more regions until the number is reached."""
    asked = count
    for _ in range(TRIALS):
        labels, seconds = slic_as_asked(rgb, asked, compactness)
        made = len(np.unique(labels))
        if abs(made - count) <= NEAR_ENOUGH * count:
            break
        asked = max(1, round(asked * count / made))
    return labels, seconds


def felzenszwalb_bisected(rgb, count):
    low, high = 0.1, 10_000.0
    for _ in range(TRIALS):
        scale = (low * high) ** 0.5
        labels, seconds = timed(lambda scale=scale: felzenszwalb(rgb, scale=scale))
        made = len(np.unique(labels))
        if abs(made - count) <= NEAR_ENOUGH * count:
            break
        low, high = (scale, high) if made > count else (low, scale)
    return labels, seconds


METHODS = {"cutmatch": ours}
for _c in COMPACTNESS:
    METHODS[f"slic {_c}"] = lambda rgb, count, c=_c: slic_as_asked(rgb, count, c)
    METHODS[f"slic {_c}, filled up"] = lambda rgb, count, c=_c: slic_filled_up(rgb, count, c)
METHODS["felzenszwalb, bisected"] = felzenszwalb_bisected


def measure(base, cases, count):
    """A row per method; ours must have the requested number of labels, each connected."""
    ours(cases[0][1], count)  # compiles
    for name, method in METHODS.items():
        made, scores, seconds = [], [], []
        for _, rgb, truth in cases:
            labels, taken = method(rgb, count)
            if name == "cutmatch":
                certify(labels, count)
            made.append(len(np.unique(labels)))
            scores.append(score_regions(labels, truth))
            seconds.append(taken)
        recall = [score.boundary_recall for score in scores]
        yield [
            base,
            name,
            str(len(cases)),
            str(count),
            f"{np.mean(made):.0f}",
            f"{np.mean(recall):.2f}",
            f"{min(recall):.1f}",
            f"{np.mean([score.undersegmentation_error for score in scores]):.2f}",
            f"{np.mean([score.boundary_pixels for score in scores]):.1f}",
            f"{np.mean(seconds):.3f}",
        ]


def certify(labels, count):
    """Labels 0 ... count - 1, each connected through pixels that share a side."""
    from skimage.measure import label

    pieces = label(labels, connectivity=1, background=-1).max()
    if pieces != count or set(np.unique(labels).tolist()) != set(range(count)):
        raise AssertionError(f"asked for {count} regions, got {len(np.unique(labels))} in {pieces} pieces")


def _parser():
    parser = command.parser("superpixels", __doc__, "superpixels-cpu", data="CUTMATCH_DATA")
    parser.add_argument("--regions", nargs="+", type=int, default=[500], metavar="N", help="how many (default: 500)")
    return parser
