"""`python -m benchmarks refine`: soft masks of low resolution refined, against filters, dense CRF and cv2.grabCut.

Needs the folder of `python -m benchmarks segment`.  The ground truth of each photograph is made into what a network
writes: perhaps damaged, then reduced to 64, 128 or 256 pixels, displaced by up to one of these, blurred, with noise,
and nowhere surer than 95 %.  Damages are in pixels of that size: eroded or dilated by 1.5, a hole of radius 3, and a
part of 15 % of the object missing.

enlarged: interpolated, cut at one half; the others start from it.  Guided and joint bilateral filter (OpenCV's
ximgproc) filter the probabilities, with radii in pixels of the mask.  Dense CRF has the parameters of pydensecrf's
example, but a bilateral weight of 3 instead of 10, which lost most of some objects.  grabCut runs five iterations on
the pixels within 2.5 pixels of the mask from the outline.  Methods whose package is not installed are left out.
lower: images whose IoU is more than 0.2 points below that of the enlarged mask; worst: the largest loss in points.  All
run on one thread.
"""

import time
from importlib.util import find_spec

import cv2
import numpy as np

from apps import refine
from apps.common.command import limited_threads
from apps.common.images import to_bytes
from apps.segmentation.mask_scores import score
from benchmarks import command
from benchmarks.segment import grabcut_from, load
from benchmarks.table import markdown

SIZES = (64, 128, 256)  # pixels of the longer side of a mask
DAMAGES = ("none", "eroded", "dilated", "hole", "missing")
PHOTOGRAPHS, THIN = "tight box", "thin structures"  # kinds of benchmarks.segment with the images of each folder
LOWER = 0.2  # points of IoU


def main(argv):
    options = _parser().parse_args(argv)
    data = command.data_folder(options)
    programs = ["opencv-python-headless", "numba", "numpy", "pydensecrf2"]
    report = command.begin("Refinement of soft masks", programs)
    methods = available()
    cases = list(load(data, PHOTOGRAPHS))
    rows = []
    refine(cases[0][1], soft_mask(cases[0][2] == 255, SIZES[0], np.random.default_rng(0)), device="cpu")  # compiles
    with limited_threads(1):
        for damage in DAMAGES:
            for size in SIZES:
                rows += measure(cases, damage, size, methods if damage == "none" else OURS)
                print(" ".join(rows[-1]), flush=True)
        for size in SIZES:
            rows += measure(list(load(data, THIN)), "none", size, OURS, "thin structures")
    columns = ["masks", "pixels", "method", "images", "IoU %", "boundary F %", "lower", "worst", "s"]
    lines = ["", markdown(columns, rows)]
    return command.finish(report, "\n".join(lines), options.save)


def soft_mask(truth, size: int, rng, damage: str = "none"):
    """Probabilities of a mask (H, W), as a network might write them; float32."""
    scale = max(truth.shape) / size
    low_size = tuple(max(8, round(side / scale)) for side in truth.shape[::-1])
    low = cv2.resize(damaged(truth, damage, scale, rng).astype(np.float32), low_size, interpolation=cv2.INTER_AREA)
    moved = np.array([[1, 0, rng.uniform(-1, 1)], [0, 1, rng.uniform(-1, 1)]], np.float32)
    low = cv2.warpAffine(low, moved, low_size, borderMode=cv2.BORDER_REPLICATE)
    logits = 6 * (cv2.GaussianBlur(low, (0, 0), 1) - 0.5) + rng.normal(0, 0.3, low.shape)
    return (1 / (1 + np.exp(-logits))).astype(np.float32)


def damaged(truth, damage: str, scale: float, rng):
    if damage in ("eroded", "dilated"):
        side = 2 * max(1, round(1.5 * scale)) + 1
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
        return (cv2.erode if damage == "eroded" else cv2.dilate)(truth.view(np.uint8), disc) > 0
    if damage == "none":
        return truth
    rows, columns = np.nonzero(truth)
    y, x = np.mgrid[: truth.shape[0], : truth.shape[1]]
    if damage == "hole":
        i = rng.integers(len(rows))
        return truth & ((y - rows[i]) ** 2 + (x - columns[i]) ** 2 > (3 * scale) ** 2)
    angle = rng.uniform(0, 2 * np.pi)
    along = np.cos(angle) * x + np.sin(angle) * y
    return truth & (along < np.quantile(along[truth], 0.85))


def enlarged(rgb, low):
    return cv2.resize(low, rgb.shape[1::-1], interpolation=cv2.INTER_LINEAR)


def guided(rgb, low):
    radius = round(2 * rgb.shape[1] / low.shape[1])
    return cv2.ximgproc.guidedFilter(rgb, enlarged(rgb, low), radius, 1e-4) > 0.5


def joint_bilateral(rgb, low):
    scale = rgb.shape[1] / low.shape[1]
    return cv2.ximgproc.jointBilateralFilter(rgb, enlarged(rgb, low), -1, 0.1, scale) > 0.5


def dense_crf(rgb, low):
    import pydensecrf.densecrf as dense
    from pydensecrf.utils import unary_from_softmax

    p = enlarged(rgb, low)
    field = dense.DenseCRF2D(rgb.shape[1], rgb.shape[0], 2)
    field.setUnaryEnergy(unary_from_softmax(np.stack([1 - p, p])))
    field.addPairwiseGaussian(sxy=3, compat=3)
    field.addPairwiseBilateral(sxy=80, srgb=13, rgbim=np.ascontiguousarray(to_bytes(rgb)), compat=3)
    return np.argmax(field.inference(5), axis=0).reshape(p.shape) == 1


def grabcut(rgb, low):
    guess = enlarged(rgb, low) > 0.5
    side = 2 * round(2.5 * rgb.shape[1] / low.shape[1]) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
    codes = np.where(guess, np.uint8(cv2.GC_PR_FGD), np.uint8(cv2.GC_PR_BGD))
    codes[cv2.erode(guess.view(np.uint8), disc) > 0] = cv2.GC_FGD
    codes[cv2.dilate(guess.view(np.uint8), disc) == 0] = cv2.GC_BGD
    return grabcut_from(rgb, codes)


OURS = {
    "enlarged": lambda rgb, low: enlarged(rgb, low) > 0.5,
    "cutmatch": lambda rgb, low: refine(rgb, low, device="cpu").mask,
}


def available() -> dict:
    """The methods whose packages are installed."""
    found = OURS | {"cv2.grabCut in the band": grabcut}
    if hasattr(cv2, "ximgproc"):
        found |= {"guided filter": guided, "joint bilateral filter": joint_bilateral}
    if find_spec("pydensecrf"):
        found["dense CRF"] = dense_crf
    return found


def measure(cases, damage: str, size: int, methods, name: str | None = None):
    """A row per method."""
    rng = np.random.default_rng(1)
    scores, seconds = {method: [] for method in methods}, {method: [] for method in methods}
    for _, rgb, truth, _ in cases:
        low = soft_mask(truth == 255, size, rng, damage)
        for method, run in methods.items():
            start = time.perf_counter()
            mask = run(rgb, low)
            seconds[method].append(time.perf_counter() - start)
            scores[method].append(score(mask, truth, np.full(truth.shape, -1, np.int8)))
    before = np.array([one["iou_percent"] for one in scores["enlarged"]])
    for method, found in scores.items():
        loss = before - np.array([one["iou_percent"] for one in found])
        yield [
            name or ("photographs" if damage == "none" else damage),
            str(size),
            method,
            str(len(found)),
            f"{np.mean([one['iou_percent'] for one in found]):.2f}",
            f"{np.mean([one['boundary_f_percent'] for one in found]):.1f}",
            str(int((loss > LOWER).sum())),
            f"{max(0.0, loss.max()):.2f}",
            f"{np.median(seconds[method]):.3f}",
        ]


def _parser():
    parser = command.parser("refine", __doc__, "refine-cpu", data="CUTMATCH_DATA")
    return parser
