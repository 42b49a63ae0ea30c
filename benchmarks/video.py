"""`python -m benchmarks video`: quality and speed of segmenting clips, with and without optical flow.

Needs the photographs with ground truth of `python -m benchmarks segment` (--data, or CUTMATCH_DATA):

    grabcut/images  grabcut/gt  grabcut/scribbles2

Each photograph becomes a clip of 600x400 pixels whose object and background move by different smooth warps
(benchmarks/video_clips.py), so every mask is known.  Only the first frame is marked: with the strokes of the set, or
with a trimap whose unknown band is 2 * TRIMAP_BAND pixels wide.  IoU of the object in per cent, over the frames after
the first; seconds: median of these frames, with the threads that numba has, certificates included.
"""

import cv2
import numba
import numpy as np

from apps.common.images import read_image
from apps.run.inputs import find_by_stem
from apps.segmentation.hints import Hints
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.mask_scores import read_truth
from apps.segmentation.strokes import read_strokes
from apps.segmentation.video import segment_marked_video
from benchmarks import command
from benchmarks.table import markdown
from benchmarks.video_clips import FRAMES, make_clip, resized

KINDS = ("trimap", "strokes")
TRIMAP_BAND = 4  # pixels on either side of the true outline
COLUMNS = ["first frame", "image", "flow", "IoU % of frame 0", "mean IoU %", "least IoU %", "s per frame"]


def main(argv):
    options = _parser().parse_args(argv)
    data = command.data_folder("video", options.data, "CUTMATCH_DATA")
    if data is None:
        return 0
    cv2.setNumThreads(numba.get_num_threads())
    report = command.begin("Segmentation of clips", ["opencv-python-headless", "numba", "numpy"])
    rows = []
    for kind in options.kinds:
        found = []
        for name, rgb, truth, strokes in load(data, options.images):
            marks = strokes if kind == "strokes" else trimap(truth)
            for flow in (True, False):
                measured = measure(rgb, truth, marks, options.frames, flow)
                found.append((flow, *measured))
                rows.append(_row(kind, name, flow, *measured))
                print(" ".join(rows[-1]), flush=True)
        for flow in (True, False):
            if group := [values for uses, *values in found if uses == flow]:
                first, mean, least, seconds = zip(*group, strict=True)
                rows.append(_row(kind, "all", flow, np.mean(first), np.mean(mean), min(least), np.median(seconds)))
    text = f"\n{options.frames} frames.\n\n{markdown(COLUMNS, rows)}"
    return command.finish(report, text, options.save)


def load(data, names=None):
    """Photographs of the size of the clips: name, RGB in [0, 1], mask, marks."""
    folder = data / "grabcut"
    images = [path for path in sorted((folder / "images").glob("*")) if not names or path.stem in names]
    for path in images:
        rgb = read_image(path)
        truth = read_truth(find_by_stem(folder / "gt", path.stem, "truth")) >= 128
        strokes = read_strokes(find_by_stem(folder / "scribbles2", path.stem, "strokes"))
        small, mask = resized(rgb, truth.view(np.uint8))
        yield path.stem, small, mask > 0, resized(rgb, (strokes + 1).view(np.uint8))[1].view(np.int8) - 1


def trimap(truth):
    """Marks on all pixels farther than TRIMAP_BAND from the outline."""
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * TRIMAP_BAND + 1, 2 * TRIMAP_BAND + 1))
    marks = np.full(truth.shape, OPEN, np.int8)
    marks[cv2.erode(truth.view(np.uint8), disc) > 0] = OBJECT
    marks[cv2.dilate(truth.view(np.uint8), disc) == 0] = BACKGROUND
    return marks


def measure(rgb, truth, marks, frames, flow):
    """IoU of the first frame; mean and least IoU, and median seconds, of the others."""
    clip = list(make_clip(rgb, truth, 1, frames))
    found = segment_marked_video((frame for frame, _ in clip), {0: Hints(marks)}, flow, "cpu")
    scores, seconds = [], []
    for result, (_, mask) in zip(found, clip, strict=True):
        assert result.is_certified or result.energy is None or result.number == 0
        scores.append(100 * (result.mask & mask).sum() / max(1, (result.mask | mask).sum()))
        seconds.append(result.seconds)
    return scores[0], np.mean(scores[1:]), min(scores[1:]), np.median(seconds[1:])


def _row(kind, name, flow, first, mean, least, seconds):
    return [kind, name, "yes" if flow else "no", f"{first:.2f}", f"{mean:.2f}", f"{least:.1f}", f"{seconds:.3f}"]


def _parser():
    parser = command.parser("video", __doc__, "video-cpu")
    command.add_data_option(parser, "CUTMATCH_DATA")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, metavar="KIND", help="trimap, strokes")
    parser.add_argument("--images", nargs="+", metavar="NAME", help="of these names only")
    parser.add_argument(
        "--frames", type=int, default=FRAMES, metavar="N", help="frames of a clip (default: %(default)s)"
    )
    return parser
