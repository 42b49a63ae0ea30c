"""`python -m benchmarks flow`: how well and how fast motion is followed, against OpenCV and scikit-image.

Needs a folder of frame pairs with ground truth (--data, or CUTMATCH_FLOW_DATA in the environment):

    middlebury/NAME/frame10.png  frame11.png  flow10.flo
    kitti*/frame1.png  frame2.png  flow_gt.png
    flyingchairs/NAME-img0.ppm  NAME-img1.ppm  NAME-gt.flo

Dense: mean end-point error (EPE), angle (AAE), Fl (error above 3 pixels and 5 %), of every pixel with known ground
truth, and processor seconds.  Sparse: points matched, the share within 3 pixels of the ground truth, correct points,
and the share of cells of 16 pixels with a correct point.  Clip
(benchmarks/flow_clip.py): EPE and seconds per pair, each pair alone and in a sequence.  Every assignment, and the cut
of the fusion, is certified before its row is printed.  Methods run alternately on each pair, after one untimed call;
seconds are the median of --repeats.
"""

import time
from dataclasses import dataclass

import cv2
import numpy as np

import assign
from apps.common.images import read_image, to_bytes
from apps.motion.sparse import match_points
from apps.optical_flow import fusion
from apps.optical_flow.dense_flow import flow
from apps.optical_flow.flow_files import read_flow
from apps.optical_flow.flow_scores import FlowScores, score_flow
from benchmarks import command
from benchmarks.flow_clip import clip_table
from benchmarks.kept_results import Kept
from benchmarks.table import markdown

RIGHT = 3.0  # pixels
CELL = 16
MIN_CLIP = 3  # frames
RATIO = 0.8  # of the mutual SIFT matches


@dataclass(frozen=True, slots=True)
class Case:
    """Two frames, uint8 RGB, and the flow between them where it is known."""

    kind: str
    name: str
    first: np.ndarray
    second: np.ndarray
    truth: np.ndarray
    known: np.ndarray


def main(argv):
    options = _parser().parse_args(argv)
    data = command.data_folder(options)
    cases = list(load(data))
    if not cases:
        print(f"benchmarks flow: no pairs in {data}")
        return 0
    report = command.begin("Optical flow", ["opencv-python-headless", "scikit-image", "numba", "numpy"])
    sections = [dense_table(cases, options.repeats), sparse_table(cases)]
    if options.clip >= MIN_CLIP:
        sections.append(clip_table(options.clip))
    return command.finish(report, "\n\n".join(sections), options.save)


def load(data):
    """All pairs of a folder with the layout above."""
    for truth in sorted(data.glob("middlebury/*/flow10.flo")):
        frames = truth.with_name("frame10.png"), truth.with_name("frame11.png")
        yield _case("Middlebury", truth.parent.name, *frames, truth)
    for truth in sorted(data.glob("kitti*/flow_gt.png")):
        frames = truth.with_name("frame1.png"), truth.with_name("frame2.png")
        yield _case("KITTI", truth.parent.name, *frames, truth)
    for truth in sorted(data.glob("flyingchairs/*-gt.flo")):
        stem = truth.name.removesuffix("-gt.flo")
        frames = (truth.with_name(f"{stem}-img{i}.ppm") for i in (0, 1))
        yield _case("FlyingChairs", stem, *frames, truth)


def _case(kind, name, first, second, truth):
    return Case(kind, name, *(to_bytes(read_image(f)) for f in (first, second)), *read_flow(truth))


def _grey(case):
    return [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in (case.first, case.second)]


def ours(case):
    return flow(case.first, case.second, device="cpu").flow


def fast(case):
    return flow(case.first, case.second, fast=True, device="cpu").flow


def dis(case):
    return cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(*_grey(case), None)


def farneback(case):
    return cv2.calcOpticalFlowFarneback(*_grey(case), None, 0.5, 5, 15, 3, 5, 1.2, 0)


def tv_l1(case):
    from skimage.registration import optical_flow_tvl1

    rows, columns = optical_flow_tvl1(*(grey / np.float32(255) for grey in _grey(case)))
    return np.dstack([columns, rows])


DENSE = {
    "cutmatch": ours,
    "cutmatch --fast": fast,
    "cv2 DIS medium": dis,
    "cv2 Farneback": farneback,
    "skimage TV-L1": tv_l1,
}


def dense_table(cases, repeats):
    """EPE on each pair, then the averages, by their names."""
    scores = {name: [] for name in DENSE}
    seconds = {name: [] for name in DENSE}
    with Kept(fusion, "fusion_minimum") as cuts:
        for method in (ours, fast):
            method(cases[0])  # compiles
        for case in cases:
            for name, method in DENSE.items():
                taken = []
                for _ in range(repeats):
                    start = time.process_time()
                    found = method(case)
                    taken.append(time.process_time() - start)
                    cuts.check()
                scores[name].append(score_flow(found, case.truth, case.known))
                seconds[name].append(float(np.median(taken)))
            print(case.kind, case.name, *(f"{name} {s[-1].epe:.3f}" for name, s in scores.items()), flush=True)
    columns = ["EPE", *(case.name for case in cases)]
    rows = [[name, *(f"{s.epe:.3f}" for s in found)] for name, found in scores.items()]
    text = f"## Dense flow\n\n{markdown(columns, rows)}\n\n"
    rows = []
    for kind in dict.fromkeys(case.kind for case in cases):
        which = [i for i, case in enumerate(cases) if case.kind == kind]
        for name in DENSE:
            time_taken = np.mean([seconds[name][i] for i in which])
            values = np.array([scores[name][i] for i in which])
            by_image, pooled = (FlowScores(*np.average(values, 0, weights)) for weights in (None, values[:, -1]))
            row = [f"{by_image.epe:.3f}", f"{pooled.epe:.3f}", f"{by_image.aae:.2f}", f"{by_image.fl:.2f}"]
            rows.append([kind, name, str(len(which)), *row, f"{pooled.fl:.2f}", f"{time_taken:.3f}"])
    columns = ["set", "method", "pairs", "EPE by image", "EPE pooled", "AAE by image", "Fl % by image", "Fl % pooled"]
    return f"{text}{markdown([*columns, 'processor s'], rows)}\n\n{cuts.checked} fusion cuts, each checked ✓"


def mutual_sift(case):
    """Nearest descriptors both ways that pass the ratio test: points of both frames."""
    sift = cv2.SIFT.create()
    (first, one), (second, two) = (sift.detectAndCompute(grey, None) for grey in _grey(case))
    matcher = cv2.BFMatcher(cv2.NORM_L2)
    best = {m.queryIdx: m.trainIdx for m in matcher.match(two, one)}
    pairs = [
        (m.queryIdx, m.trainIdx)
        for m, *other in matcher.knnMatch(one, two, 2)
        if other and m.distance < RATIO * other[0].distance and best[m.trainIdx] == m.queryIdx
    ]
    return np.array([first[i].pt for i, _ in pairs]), np.array([second[j].pt for _, j in pairs])


def by_assignment(case):
    found = match_points(case.first, case.second, device="cpu")
    return found.first, found.second


SPARSE = {"cutmatch, assignment": by_assignment, "SIFT, ratio and mutual": mutual_sift}


def sparse_table(cases):
    rows = []
    with Kept(assign, "solve") as assignments:
        for method in SPARSE.values():
            method(cases[0])
        for kind in dict.fromkeys(case.kind for case in cases):
            for name, method in SPARSE.items():
                found, taken = [], []
                for case in cases:
                    if case.kind == kind:
                        start = time.process_time()
                        matches = method(case)
                        taken.append(time.process_time() - start)
                        assignments.check()
                        found.append(points_right(*matches, case))
                count, error, within, right, cells = np.mean(found, axis=0)
                row = [f"{count:.0f}", f"{error:.2f}", f"{within:.2f}", f"{right:.0f}", f"{cells:.1f}"]
                rows.append([kind, name, *row, f"{np.mean(taken):.3f}"])
    columns = ["set", "method", "points", "mean EPE", "within 3 px %", "right", "cells %", "processor s"]
    return f"## Sparse matches\n\n{markdown(columns, rows)}\n\n{assignments.checked} assignments, each checked ✓"


def points_right(first, second, case):
    """Points with known ground truth, their mean error, percent and number within 3 pixels, percent of cells hit."""
    if not len(first):
        return 0, 0.0, 0.0, 0, 0.0
    height, width = case.known.shape
    x = np.clip(np.rint(first[:, 0]).astype(int), 0, width - 1)
    y = np.clip(np.rint(first[:, 1]).astype(int), 0, height - 1)
    known = case.known[y, x]
    error = np.linalg.norm((second - first - case.truth[y, x])[known], axis=1)
    good = error < RIGHT
    cells = -(-height // CELL), -(-width // CELL)
    there, hit = np.zeros(cells, bool), np.zeros(cells, bool)
    there[np.nonzero(case.known)[0] // CELL, np.nonzero(case.known)[1] // CELL] = True
    hit[y[known][good] // CELL, x[known][good] // CELL] = True
    mean = float(error.mean()) if len(error) else 0.0
    return len(error), mean, 100 * good.mean() if len(error) else 0.0, int(good.sum()), 100 * hit.sum() / there.sum()


def _parser():
    parser = command.parser("flow", __doc__, "flow-cpu", data="CUTMATCH_FLOW_DATA", repeats=3)
    parser.add_argument("--clip", type=int, default=100, metavar="N", help="frames of the clip (default: 100; 0: none)")
    return parser
