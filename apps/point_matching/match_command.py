"""Match points between two images of one scene and estimate their geometry.

  cutmatch match left.jpg right.jpg                       homography or fundamental matrix, whichever fits
  cutmatch match left.jpg right.jpg --model homography    for a planar scene, or a rotating camera
  cutmatch match left.jpg right.jpg --truth H.txt         with errors against a known homography, 3 x 3 numbers
  cutmatch match lefts/ rights/                           two folders: lefts/NAME.jpg is paired with rights/NAME.png

SIFT points are matched one-to-one by an exact assignment with a cost for leaving a point unmatched.  A homography or
fundamental matrix is estimated robustly, and a second assignment matches the points near it.

Results in the --out folder: FIRST-SECOND-matches.csv (x0, y0, x1, y1, cost, margin, confidence, residual in pixels,
inlier), FIRST-SECOND-matrix.txt, the homography or fundamental matrix, which numpy.loadtxt and --truth read,
FIRST-SECOND-matches.png, and, for a homography, FIRST-SECOND-over.png, a checkerboard of the first image and the warped
second image.  inlier is 1 for a residual of at most --inlier-threshold; large images, whose threshold is that of their
reduced copies, also have matches with 0.
"""

import io
from pathlib import Path

import numpy as np

from apps.common.clock import shown_seconds
from apps.common.images import InputError, read_bytes, read_image, to_bytes, write_bytes, write_image
from apps.point_matching import INLIER_THRESHOLD, MODELS
from apps.run.inputs import Pair, pair_items
from apps.run.program import Program, Work, report_of

TABLES = (".csv", ".json")
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
    options.add_argument(
        "--model", choices=MODELS, default=MODELS[0], help="geometric model to estimate (default: %(default)s)"
    )
    options.add_argument(
        "--inlier-threshold",
        type=float,
        default=INLIER_THRESHOLD,
        metavar="PIXELS",
        help="maximum distance of a match from the geometry (default: %(default)g)",
    )
    options.add_argument("--table", metavar="FILE", help="file for the matches, .csv or .json (default: in --out)")
    options.add_argument("--truth", metavar="FILE", help="true homography (text, OpenCV's XML or YAML), or a folder")


def _plan(chosen) -> Work:
    if not 0 < chosen.inlier_threshold < float("inf"):
        raise InputError(f"--inlier-threshold must be above 0 pixels, got {chosen.inlier_threshold}")
    if chosen.table and Path(chosen.table).suffix.lower() not in TABLES:
        raise InputError(f"--table: {chosen.table!r} must end in {' or '.join(TABLES)}")
    images = {"first": chosen.first, "second": chosen.second}
    items, many = pair_items(images, chosen.truth, _name)
    one_pair = "--table takes the matches of one pair; omit it for folders, and tables are written to --out"
    # The points of both images are detected concurrently.
    return Work(items, many, _match_one, _line, threads_per_item=2, one_only={"table": one_pair})


def _name(first: Path, second: Path | None) -> str:
    return f"{first.stem}-{(second or first).stem}"  # paired files in two folders have the same stem


def _files(name: str, chosen) -> dict[str, Path]:
    """Return the possible output files of a pair, by kind; "over" is written for a homography only."""
    folder = Path(chosen.out)
    files = {} if chosen.table else {"table": folder / f"{name}-matches.csv"}
    files |= {"matrix": folder / f"{name}-matrix.txt", "figure": folder / f"{name}-matches.png"}
    return files if chosen.model == "fundamental" else files | {"over": folder / f"{name}-over.png"}


def _match_one(pair: Pair, chosen) -> dict:
    """Process one pair and return its report.  Figures are drawn before the first file is written."""
    truth = _read_truth(pair.truth) if pair.truth is not None else None
    first, second = read_image(pair.first, "first"), read_image(pair.second, "second")
    from apps.point_matching.match_figures import matches_figure, overlay_figure
    from apps.point_matching.wide_baseline import match

    settings = {"model": chosen.model, "inlier_threshold": chosen.inlier_threshold, "device": chosen.device}
    found = match(to_bytes(first), to_bytes(second), **settings)
    name = _name(pair.first, pair.second)
    plane = found.matrix if found.model == "homography" else None
    figures = {"figure": matches_figure(first, second, found.matches, plane)}
    if plane is not None:
        figures["over"] = overlay_figure(first, second, plane)
    kinds = ("table", "matrix", *figures)
    files = {kind: path for kind, path in _files(name, chosen).items() if kind in kinds}
    option = "--table" if chosen.table else "--out"
    is_inlier = found.residual <= chosen.inlier_threshold
    measured = {"residual": found.residual, "inlier": is_inlier.astype(int)}
    files = {"table": found.matches.write(chosen.table or files["table"], option, measured)} | files
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
        "inliers": int(is_inlier.sum()),
        "coverage_percent": round(_coverage(found.matches.first, first.shape), 2),
        "device": "cpu",  # sparse assignments are solved on the CPU on every device
    }
    if truth is not None:
        facts["truth"] = _scores(found, truth, first.shape)
    named = {"first": str(pair.first), "second": str(pair.second)}
    return report_of(named, first.shape[:2], found.seconds, files, **facts)


def _write_matrix(path: Path, found) -> None:
    """Write the matrix with 17 significant digits, which numpy.loadtxt reads without loss."""
    text = io.StringIO()
    np.savetxt(text, _scaled(found), fmt="%.17g", header=MATRIX_NOTES[found.model])
    write_bytes(path, text.getvalue().encode())


def _scaled(found):
    """The matrix, which has no scale, with 1 at the lower right of a homography, or a fundamental matrix of norm 1."""
    by_corner = found.model == "homography" and found.matrix[2, 2] != 0
    return found.matrix / (found.matrix[2, 2] if by_corner else np.linalg.norm(found.matrix))


def _coverage(points, shape) -> float:
    """Return the percentage of the first image's 32-pixel cells that contain a match."""
    cells = -(-shape[0] // 32) * -(-shape[1] // 32)
    return 100.0 * len(np.unique(np.floor(points / 32).astype(int), axis=0)) / cells


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
    """Read nine numbers from a text file, which may have comments, or the first 3 x 3 matrix written by OpenCV."""
    import re

    text = read_bytes(path, "--truth").decode("utf-8", "replace")
    if "opencv" in text or text.startswith("%YAML"):
        data = re.search(r"<data>(.*?)</data>|data:\s*\[(.*?)\]", text, re.DOTALL)
        text = (data[1] or data[2]) if data else ""
    text = re.sub(r"#.*", "", text)
    try:
        values = np.array([float(word) for word in re.sub(r"[\[\],;]", " ", text).split()])
    except ValueError:
        values = np.zeros(0)
    truth = None
    if values.size == 9 and np.isfinite(values).all() and values.any():
        truth = (values / np.abs(values).max()).reshape(3, 3)  # a homography has no scale
        stretch = np.linalg.svd(truth, compute_uv=False)
        if not stretch[-1] > MIN_STRETCH_RATIO * stretch[0]:
            truth = None
    if truth is None:
        raise InputError(f"--truth: {str(path)!r} must contain the nine numbers of an invertible homography")
    return truth if truth[2, 2] >= 0 else -truth


def _line(report) -> str:
    text = (
        f"{report['first']} {report['second']}: {report['matches']} matches, {report['model']}, "
        f"{report['first_inliers']} of {report['first_matches']} first matches are inliers, "
        f"residual {report['residual_median']:.2f} px, {shown_seconds(report['seconds'])} -> {report['files']['table']}"
    )
    if "truth" in report:
        truth = report["truth"]
        text += f"; {truth['right']} right ({truth['right_percent']:.2f} %)"
        text += f", corner error {truth['corner_error']:.2f} px" if truth.get("corner_error") is not None else ""
    return text


PROGRAM = Program("match", __doc__, "pair", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
