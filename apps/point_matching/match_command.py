"""Match points between two images of one scene and estimate their geometry.

  cutmatch match left.jpg right.jpg                       homography or fundamental matrix, whichever fits
  cutmatch match left.jpg right.jpg --model homography    for a planar scene, or a rotating camera
  cutmatch match left.jpg right.jpg --truth H.txt         with errors against a known homography, 3 x 3 numbers
  cutmatch match lefts/ rights/                           two folders: lefts/NAME.jpg is paired with rights/NAME.png

SIFT points are matched one-to-one by an exact assignment with a cost for leaving a point unmatched.  A homography or
fundamental matrix is estimated robustly, and a second assignment matches the points near it.

Results in the --out folder: FIRST-SECOND-matches.csv (x0, y0, x1, y1, cost, margin, confidence, residual in
pixels), FIRST-SECOND-matrix.txt, the homography or fundamental matrix, which numpy.loadtxt and --truth read,
FIRST-SECOND-matches.png, and, for a homography, FIRST-SECOND-over.png, a checkerboard of the first image and the warped
second image.  For large images, --inlier-threshold is in pixels of their reduced copies.
"""

import io
from pathlib import Path

import numpy as np

from apps.common.images import InputError, read_bytes, read_image, to_bytes, write_bytes, write_image
from apps.point_matching import INLIER_THRESHOLD, MODELS
from apps.run.inputs import Pair, pair_items
from apps.run.program import Program, Work, line_of, report_of

RIGHT_WITHIN = 3.0  # pixels: maximum error of a right match, for --truth
MATRIX_NOTES = {
    "homography": "homography: maps (x, y, 1) of the first image to the second, up to scale",
    "fundamental": "fundamental matrix F: second^T F first = 0 for matching points (x, y, 1)",
}
MIN_STRETCH_RATIO = 1e-15  # minimum ratio of singular values of a --truth homography
INPUTS = ("first", "second", "truth")


def _add_options(options) -> None:
    options.add_argument("first", help="image, or a folder of them")
    options.add_argument("second", help="image of the same scene, or a folder of them with the same names")
    options.add_argument("--model", choices=MODELS, default=MODELS[0], help="geometric model to estimate")
    near = {"default": INLIER_THRESHOLD, "metavar": "PIXELS", "help": "largest distance of a match from the geometry"}
    options.add_argument("--inlier-threshold", type=float, **near)
    options.add_argument("--truth", metavar="FILE", help="true homography, nine numbers as text, or a folder")


def _plan(chosen) -> Work:
    if not 0 < chosen.inlier_threshold < float("inf"):
        raise InputError(f"--inlier-threshold must be above 0 pixels, got {chosen.inlier_threshold}")
    images = {"first": chosen.first, "second": chosen.second}
    items, many = pair_items(images, chosen.truth, _name)
    # The points of both images are detected concurrently.
    return Work(items, many, _match_one, _line, threads_per_item=2)


def _name(first: Path, second: Path | None) -> str:
    return f"{first.stem}-{(second or first).stem}"  # paired files in two folders have the same stem


def _match_one(pair: Pair, chosen) -> dict:
    """Process one pair and return its report.  Figures are drawn before the first file is written."""
    truth = _read_truth(pair.truth) if pair.truth is not None else None
    first, second = read_image(pair.first, "first"), read_image(pair.second, "second")
    from apps.point_matching.match_figures import matches_figure, overlay_figure
    from apps.point_matching.wide_baseline import match

    settings = {"model": chosen.model, "inlier_threshold": chosen.inlier_threshold, "device": chosen.device}
    found = match(to_bytes(first), to_bytes(second), **settings)
    plane = found.matrix if found.model == "homography" else None
    figures = {"figure": matches_figure(first, second, found.matches, plane)}
    if plane is not None:
        figures["over"] = overlay_figure(first, second, plane)
    names = {"table": "matches.csv", "matrix": "matrix.txt", "figure": "matches.png", "over": "over.png"}
    start = f"{chosen.out}/{_name(pair.first, pair.second)}"
    files = {kind: Path(f"{start}-{end}") for kind, end in names.items() if kind != "over" or plane is not None}
    found.matches.write(files["table"], {"residual": found.residual})
    _write_matrix(files["matrix"], found)
    for kind, pixels in figures.items():
        write_image(files[kind], pixels)
    first_matches, inliers = found.counts["first"], found.counts["inliers"]
    facts = {
        "model": found.model,
        "matrix": _scaled(found).tolist(),
        "points": found.counts["points"],
        "first_matches": first_matches,
        "first_inliers": inliers,
        "first_inlier_percent": round(100.0 * inliers / max(1, first_matches), 2),
        "matches": len(found.matches),
        "residual_median": round(float(np.median(found.residual)), 4),
        "residual_rms": round(float(np.sqrt((found.residual**2).mean())), 4),
        "device": "cpu",  # sparse assignments are solved on the CPU on every device
    }
    if truth is not None:
        facts["truth"] = _scores(found, truth, first.shape)
    return report_of({"pair": f"{pair.first} | {pair.second}"}, first.shape[:2], found.seconds, files, **facts)


def _write_matrix(path: Path, found) -> None:
    """Write the matrix with 17 significant digits, which numpy.loadtxt reads without loss."""
    text = io.StringIO()
    np.savetxt(text, _scaled(found), fmt="%.17g", header=MATRIX_NOTES[found.model])
    write_bytes(path, text.getvalue().encode())


def _scaled(found):
    """The matrix, which has no scale, with 1 at the lower right of a homography, or a fundamental matrix of norm 1."""
    by_corner = found.model == "homography" and found.matrix[2, 2] != 0
    return found.matrix / (found.matrix[2, 2] if by_corner else np.linalg.norm(found.matrix))


def _scores(found, truth, shape) -> dict:
    """Return errors against a true homography: of the mapped image corners, and of the matches."""
    from apps.point_matching.geometry import apply, transfer_distance

    with np.errstate(all="ignore"):  # points that the true homography maps to infinity are not right
        off = transfer_distance(truth, found.matches.first, found.matches.second)
    scores: dict = {
        "right": int((off < RIGHT_WITHIN).sum()),
        "right_percent": round(100.0 * float((off < RIGHT_WITHIN).mean()), 3),
        "within_pixels": RIGHT_WITHIN,
    }
    if found.model == "homography":
        width, height = shape[1] - 1, shape[0] - 1
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], float)
        with np.errstate(all="ignore"):
            distance = np.linalg.norm(apply(found.matrix, corners) - apply(truth, corners), axis=1)
        error = float(distance.mean())  # not finite if the true homography maps a corner to infinity
        scores["corner_error"] = round(error, 4) if np.isfinite(error) else None
    return scores


def _read_truth(path):
    """Read nine numbers from a text file, as `numpy.loadtxt` does."""
    try:
        values = np.loadtxt(io.BytesIO(read_bytes(path, "--truth")), delimiter=None).ravel()
    except ValueError:
        values = np.zeros(0)
    if values.size == 9 and np.isfinite(values).all() and values.any():
        truth = (values / np.abs(values).max()).reshape(3, 3)  # a homography has no scale
        stretch = np.linalg.svd(truth, compute_uv=False)
        if stretch[-1] > MIN_STRETCH_RATIO * stretch[0]:
            return truth if truth[2, 2] >= 0 else -truth
    raise InputError(f"--truth: {str(path)!r} must contain the nine numbers of an invertible homography")


def _line(report) -> str:
    inliers = f"{report['first_inliers']} of {report['first_matches']} first matches are inliers"
    found = f"{report['matches']} matches", report["model"], inliers, f"residual {report['residual_median']:.2f} px"
    text = line_of(report, *found)
    if "truth" in report:
        truth = report["truth"]
        text += f"; {truth['right']} right ({truth['right_percent']:.2f} %)"
        text += f", corner error {truth['corner_error']:.2f} px" if truth.get("corner_error") is not None else ""
    return text


PROGRAM = Program("match", __doc__, "pair", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
