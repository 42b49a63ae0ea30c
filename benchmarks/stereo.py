"""`python -m benchmarks stereo`: quality and speed of disparities, against OpenCV and block matching.

The pair that comes with scikit-image (Middlebury's motorcycle) is always measured; a folder of others is given by
--data, or CUTMATCH_STEREO_DATA in the environment:

    NAME/left.*  right.*  and truth.*, whose scale (values per pixel) is in its name: truth-16.pgm; 1 for .pfm
    tsukuba/im3.png im4.png disp3.pgm,  NAME/im2.png im6.png disp2.png       Middlebury 2001 and 2003, as they come

Two references of published graph cuts, where a pair has them: the energy and the settings of Szeliski et al. (PAMI
2008, benchmarks.label_instances), minimised by our expansion; and the label images of their benchmark,
--published FOLDER with NAME-METHOD.png, 17 grey levels per pixel of disparity, of pairs whose disparities fit.

bad-T: per cent of the pixels off by more than T pixels, of those both cameras see and of all with ground truth; RMS in
pixels.  All methods search the same range of disparities, that of the ground truth; OpenCV's semi-global matching (its
mode of all directions, window 5) leaves holes, which are filled as ours are.  Every method is run once untimed; every
move of our labellings is certified, which takes longer than finding it; seconds are the median of
--repeats.
"""

import itertools
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import imageio.v3 as iio
import numpy as np

import gridcut
from apps.common.images import read_image, to_bytes, to_rgb
from apps.stereo_matching.disparities import stereo
from apps.stereo_matching.disparity_files import read_disparity
from apps.stereo_matching.disparity_scores import score_disparity
from apps.stereo_matching.stereo_occlusion import filled
from benchmarks import command
from benchmarks.label_instances import PUBLISHED
from benchmarks.table import markdown
from benchmarks.timing import rounds

BLOCK = 11  # pixels across, of the plain block matcher
LAYOUTS = (("left.*", "right.*", "truth*"), ("im3.png", "im4.png", "disp3.pgm"), ("im2.png", "im6.png", "disp2.png"))
MIDDLEBURY = {"disp3": 16.0, "disp2": 4.0}  # scales of its truths
LEVELS = 17  # of a published label image, per pixel of disparity
COLUMNS = ("pair", "method", "seen bad-0.5", "bad-1", "bad-2", "all bad-0.5", "bad-1", "bad-2", "RMS", "s")


@dataclass(frozen=True, slots=True)
class Case:
    """A pair, float32 RGB in [0, 1], the true disparities, where they are known, and the largest."""

    name: str
    left: np.ndarray
    right: np.ndarray
    truth: np.ndarray
    known: np.ndarray

    @property
    def most(self) -> int:
        return int(np.ceil(self.truth[self.known].max())) + 1


def main(argv):
    options = _parser().parse_args(argv)
    cases = [] if options.no_sample else [sample()]
    if options.data is not None and Path(options.data).is_dir():
        cases += load(Path(options.data))
    if not cases:
        print(f"benchmarks stereo: skipped, no pairs in {options.data!r}; pass --data FOLDER (--help shows its layout)")
        return 0
    report = command.begin("Stereo", ["opencv-python-headless", "scikit-image", "numba", "numpy"])
    rows = command.shown(
        row
        for case in cases
        for row in itertools.chain(measure(case, options.repeats), references(case, options.published))
    )
    return command.finish(report, markdown(COLUMNS, rows), options.save)


def sample() -> Case:
    """Middlebury's motorcycle, a quarter of its size, as scikit-image has it."""
    import skimage.data

    left, right, truth = skimage.data.stereo_motorcycle()
    known = np.isfinite(truth)
    return Case("motorcycle", to_rgb(left), to_rgb(right), np.where(known, truth, 0), known)


def load(data: Path) -> list[Case]:
    """All pairs of a folder with the layout above."""
    cases = []
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        for names in LAYOUTS:
            found = [sorted(folder.glob(name)) for name in names]
            if all(found):
                cases.append(_case(folder.name, *(files[0] for files in found)))
    return cases


def _case(name, left, right, truth):
    said = re.fullmatch(r"truth-([\d.]+)", truth.stem)
    scale = float(said[1]) if said else MIDDLEBURY.get(truth.stem)
    return Case(name, read_image(left), read_image(right), *read_disparity(truth, scale))


def run_ours(case, subpixel=False):
    return stereo(case.left, case.right, max_disparity=case.most, subpixel=subpixel, device="cpu")


def ours(case):
    return run_ours(case).disparity


def ours_subpixel(case):
    return run_ours(case, subpixel=True).disparity


def semi_global(case):
    most = 16 * ((case.most + 16) // 16)
    matcher = cv2.StereoSGBM_create(0, most, 5, 8 * 3 * 25, 32 * 3 * 25, 1, 63, 10, 100, 32, cv2.STEREO_SGBM_MODE_HH)
    # Padded, so that the pixels at the left border can be matched as well.
    wide = [cv2.copyMakeBorder(to_bytes(p), 0, 0, most, 0, cv2.BORDER_REPLICATE) for p in (case.left, case.right)]
    found = matcher.compute(*wide)[:, most:].astype(np.float32) / 16
    return filled(np.maximum(found, 0), found >= 0, case.left)


def block_matching(case):
    """For each pixel the disparity whose absolute differences, averaged over a block, are least."""
    left, right = (np.float32(255) * image for image in (case.left, case.right))
    best = np.full(left.shape[:2], np.inf, np.float32)
    found = np.zeros(left.shape[:2], np.float32)
    for d in range(case.most + 1):
        shifted = cv2.copyMakeBorder(right, 0, 0, d, 0, cv2.BORDER_REPLICATE)[:, : left.shape[1]]
        cost = cv2.blur(np.abs(left - shifted).mean(axis=2), (BLOCK, BLOCK))
        closer = cost < best
        best[closer], found[closer] = cost[closer], d
    return found


METHODS = {
    "cutmatch": ours,
    "cutmatch, sub-pixel": ours_subpixel,
    "OpenCV SGBM": semi_global,
    "block matching": block_matching,
}


def measure(case: Case, repeats: int):
    """A row per method; methods alternately, `repeats` times, after one untimed call and the certificate of ours."""
    proved = [run_ours(case, subpixel) for subpixel in (False, True)]
    for one, again in zip(*(result.solved for result in proved), strict=True):
        one.check()
        assert np.array_equal(one.labels, again.labels), (
            "the labels of the sub-pixel row differ from the certified ones"
        )
    found = {name: method(case) for name, method in METHODS.items()}
    seconds = rounds({name: partial(method, case) for name, method in METHODS.items()}, repeats)[0] if repeats else {}
    for name in METHODS:
        yield row_of(case, name, found[name], f"{seconds[name]:.2f}" if repeats else "-")


def references(case: Case, published: Path | None):
    """Rows of the published energy, every move certified, and of published labels."""
    if case.name in PUBLISHED:
        energy = PUBLISHED[case.name](to_bytes(case.left), to_bytes(case.right))
        result = gridcut.alpha_expansion(*energy, device="cpu")
        result.check()
        yield row_of(case, "published energy, our expansion", result.labels, "-")
    for path in sorted(published.glob(f"{case.name}-*.png")) if published else []:
        if LEVELS * case.truth.max() <= 255:
            levels = iio.imread(path)
            labels = (levels if levels.ndim == 2 else levels[..., 0]) // LEVELS
            yield row_of(case, f"published labels, {path.stem.removeprefix(case.name + '-')}", labels, "-")


def row_of(case: Case, method: str, found: np.ndarray, seconds: str) -> list[str]:
    s = score_disparity(found, case.truth, case.known)
    rates = [s[f"{seen}bad_{limit}"] for seen in ("visible_", "") for limit in ("05", "10", "20")]
    return [case.name, method, *(f"{rate:.2f}" for rate in rates), f"{s['rms']:.2f}", seconds]


def _parser():
    options = command.parser("stereo", __doc__, "stereo-cpu", data="CUTMATCH_STEREO_DATA", repeats=1)
    options.add_argument("--published", type=Path, metavar="FOLDER", help="published label images, NAME-METHOD.png")
    options.add_argument("--no-sample", action="store_true", help="leave out the pair of scikit-image")
    return options
