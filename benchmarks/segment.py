"""`python -m benchmarks segment`: quality and speed of segmentation, against cv2.grabCut.

Needs a folder of images with ground truth (--data, or CUTMATCH_DATA in the environment):

    grabcut/images  grabcut/gt  grabcut/scribbles1  grabcut/scribbles2  grabcut/boxes.json
    coopcuts/images  coopcuts/groundtruth  coopcuts/seeds

grabCut runs five iterations; with strokes the open pixels start as probable background, its usable start.
An image counts as failed, in the last column, where a method raises, which scores as an empty object, and where the
IoU is below 10 %.
error %: wrong pixels among those the input leaves open; IoU and boundary F (2 pixels) of the object; means
over images, without the undecided band of the ground truth.  Both run on one thread, alternately on each image,
after one untimed call; seconds are those of the processor, which other programs disturb less.

Several boxes: images composed of these photographs (benchmarks/box_scenes.py), in which every box has an object.
grabCut runs in each box's crop, with the same margin.  IoU is of single objects.
"""

import contextlib
import json
import time
from functools import partial

import cv2
import numba
import numpy as np

from apps.common.images import InputError, read_image, to_bytes
from apps.run.inputs import find_by_stem
from apps.segmentation.fit import around, find_labels
from apps.segmentation.hints import Hints
from apps.segmentation.instances import label_boxes
from apps.segmentation.marks import BACKGROUND, OBJECT
from apps.segmentation.mask_scores import read_truth, score
from apps.segmentation.model import ImageView
from apps.segmentation.strokes import marks_of_box, read_strokes
from benchmarks import command
from benchmarks.box_scenes import collages, tiles
from benchmarks.table import markdown
from benchmarks.timing import timed

GRABCUT_ITERATIONS = 5
KINDS = {
    "strokes, set 2": ("grabcut", "gt", "scribbles2"),
    "strokes, set 1": ("grabcut", "gt", "scribbles1"),
    "tight box": ("grabcut", "gt", "tight"),
    "box + 10 %": ("grabcut", "gt", "loose10"),
    "thin structures": ("coopcuts", "groundtruth", "seeds"),
}
FAILED_IOU = 10.0  # per cent; a smaller overlap is no answer
BOX_IMAGES = 20  # with several boxes


def main(argv):
    options = _parser().parse_args(argv)
    data = command.data_folder(options)
    numba.set_num_threads(1)
    cv2.setNumThreads(1)
    report = command.begin("Segmentation against cv2.grabCut", ["opencv-python-headless", "numba", "numpy"])
    rows = []
    for kind in options.kinds or KINDS:
        cases = list(load(data, kind))
        if not cases:
            print(f"{kind}: no images in {data}")
            continue
        rows += command.shown(measure(kind, cases))
    columns = ["input", "method", "images", "IoU %", "error %", "boundary F %", "least IoU %", "s", "failed"]
    lines = ["", markdown(columns, rows)]
    if not options.quick and rows:
        lines += ["", boxes_table(data)]
    return command.finish(report, "\n".join(lines), options.save)


def load(data, kind):
    """Images of one kind: name, RGB in [0, 1], ground truth, marks."""
    base, truths, what = KINDS[kind]
    images = sorted((data / base / "images").glob("*"))
    boxes = json.loads((data / base / "boxes.json").read_text("utf-8")) if what in ("tight", "loose10") else None
    for path in images:
        rgb = read_image(path)
        truth = read_truth(find_by_stem(data / base / truths, path.stem, "truth"))
        if boxes is not None:
            marks = marks_of_box(boxes[path.stem][what], rgb.shape[:2])
        else:
            marks = read_strokes(find_by_stem(data / base / what, path.stem, "strokes"))
        yield path.stem, rgb, truth, marks


def ours(rgb, marks):
    return find_labels(ImageView(lambda: rgb, marks.shape), Hints(marks), "cpu").mask


def grabcut(rgb, marks):
    """cv2.grabCut; cv2.error where it cannot run."""
    codes = np.full(marks.shape, cv2.GC_PR_BGD, np.uint8)
    if not (marks == OBJECT).any():
        codes[:] = cv2.GC_PR_FGD
    codes[marks == OBJECT] = cv2.GC_FGD
    codes[marks == BACKGROUND] = cv2.GC_BGD
    return grabcut_from(rgb, codes)


def grabcut_from(rgb, codes):
    """cv2.grabCut from codes as it has them, which it changes."""
    bgr = np.ascontiguousarray(to_bytes(rgb)[..., ::-1])
    cv2.setRNGSeed(0)
    cv2.grabCut(bgr, codes, None, np.zeros((1, 65)), np.zeros((1, 65)), GRABCUT_ITERATIONS, cv2.GC_INIT_WITH_MASK)
    return (codes == cv2.GC_FGD) | (codes == cv2.GC_PR_FGD)


METHODS = {"cutmatch": ours, "cv2.grabCut": grabcut}


def measure(kind, cases):
    """A row per method."""
    scores = {name: [] for name in METHODS}
    seconds = {name: [] for name in METHODS}
    failed = dict.fromkeys(METHODS, 0)
    ours(cases[0][1], cases[0][3])  # compiles
    for _, rgb, truth, marks in cases:
        for name, method in METHODS.items():
            start = time.process_time()
            try:
                mask = method(rgb, marks)
            except (cv2.error, InputError):
                mask = np.zeros(marks.shape, bool)
            seconds[name].append(time.process_time() - start)
            scores[name].append(score(mask, truth, marks))
            failed[name] += scores[name][-1]["iou_percent"] < FAILED_IOU
    for name in METHODS:
        found = scores[name]
        yield [
            kind,
            name,
            str(len(found)),
            f"{np.mean([s['iou_percent'] for s in found]):.2f}",
            f"{np.mean([s['error_percent'] for s in found]):.2f}",
            f"{np.mean([s['boundary_f_percent'] for s in found]):.2f}",
            f"{min(s['iou_percent'] for s in found):.1f}",
            f"{np.mean(seconds[name]):.3f}",
            str(failed[name]),
        ]


def boxes_table(data, images=BOX_IMAGES):
    """IoU of single objects, and seconds per image, of images with several boxes."""
    cases = list(load(data, "tight box"))
    rows = []
    for scene in (tiles, collages):
        ious = {name: [] for name in METHODS}
        seconds = dict.fromkeys(METHODS, 0.0)
        for seed in range(images):
            rgb, truth, boxes = scene(cases, seed)
            if not seed:
                label_boxes(rgb, boxes)  # compiles
            for name, method in zip(METHODS, (ours_of_boxes, grabcut_of_boxes), strict=True):
                labels, taken = timed(partial(method, rgb, boxes), time.process_time)
                seconds[name] += taken
                ious[name] += [_iou(labels == value, truth == value) for value in range(1, len(boxes) + 1)]
        for name, values in ious.items():
            failed = sum(iou < FAILED_IOU for iou in values)
            row = [scene.__name__, name, str(images), str(len(values)), f"{np.mean(values):.2f}"]
            rows.append([*row, f"{np.median(values):.2f}", f"{seconds[name] / images:.2f}", str(failed)])
            print(" ".join(rows[-1]), flush=True)
    return markdown(["several boxes", "method", "images", "boxes", "IoU %", "median %", "s per image", "failed"], rows)


def ours_of_boxes(rgb, boxes):
    return label_boxes(rgb, boxes, "cpu").labels


def grabcut_of_boxes(rgb, boxes):
    """Labels (H, W) of `grabcut` in the crop of each box; later boxes prevail."""
    labels = np.zeros(rgb.shape[:2], int)
    for value, box in enumerate(boxes, 1):
        crop = around((slice(box[1], box[3]), slice(box[0], box[2])), labels.shape)
        with contextlib.suppress(cv2.error, InputError):
            labels[crop][grabcut(rgb[crop], marks_of_box(box, labels.shape)[crop])] = value
    return labels


def _iou(mask, truth):
    return 100.0 * np.count_nonzero(mask & truth) / np.count_nonzero(mask | truth)


def _parser():
    parser = command.parser("segment", __doc__, "segment-cpu", data="CUTMATCH_DATA")
    kinds = "of " + ", ".join(KINDS).replace("%", "%%")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, metavar="KIND", help=kinds)
    parser.add_argument("--quick", action="store_true", help="leave out several boxes")
    return parser
