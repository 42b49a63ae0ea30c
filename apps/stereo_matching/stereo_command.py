"""Compute the disparity map of a rectified image pair by graph cuts.

  cutmatch stereo left.png right.png                    a rectified pair of the same size
  cutmatch stereo lefts/ rights/                        two folders: lefts/NAME.jpg is paired with rights/NAME.png
  cutmatch stereo left.png right.png --truth t.pfm      with rates of bad pixels and an error figure

The integer disparities minimise matching cost plus smoothness by alpha-expansion; every move is an exact minimum cut.
Both images are labelled.  Pixels where the two labellings disagree are hidden from one camera, or wrong, and are
filled from their neighbours.

Each pair writes to the --out folder, under the left image's name: NAME-disparity.png (16 bits, disparity * 256 rounded,
as in KITTI; or the format of --format), NAME-colour.png (near is red, with a scale bar), NAME-valid.png (255 where both
labellings agree), and with --truth NAME-error.png.
"""

from apps.common.images import InputError, read_image, write_image
from apps.run.inputs import Pair, pair_items
from apps.run.program import Program, Work, line_of, mean_scores, report_of
from apps.stereo_matching import SMOOTHNESS

FORMATS = ("png", "pfm")
INPUTS = ("left", "right", "truth")


def _add_options(options) -> None:
    options.add_argument("left", help="left image, or a folder of them")
    options.add_argument("right", help="right image, or a folder of them with the same names")
    how = options.add_argument_group("method")
    most = "largest disparity to search (default: estimated)"
    how.add_argument("--max-disparity", type=int, metavar="PIXELS", help=most)
    step = "cost of a one-pixel disparity step, in grey levels"
    how.add_argument("--smoothness", type=float, default=SMOOTHNESS, metavar="LEVELS", help=step)
    how.add_argument("--subpixel", action="store_true", help="refine disparities to fractions of a pixel")
    options.add_argument("--format", choices=FORMATS, default="png", help="format of the disparity file")
    options.add_argument("--truth", metavar="FILE", help="ground-truth disparities, or a folder of them; adds scores")
    options.add_argument("--truth-scale", type=float, metavar="LEVELS", help="grey levels of the truth per pixel")


def _plan(chosen) -> Work:
    if chosen.truth_scale is not None and not 1e-6 <= chosen.truth_scale <= 1e6:
        raise InputError(f"--truth-scale must be 1e-6 to 1e6, got {chosen.truth_scale}")
    if chosen.format == "png" and chosen.max_disparity is not None:
        from apps.stereo_matching.disparity_files import check_png

        check_png(chosen.max_disparity)
    images = {"left": chosen.left, "right": chosen.right}
    items, many = pair_items(images, chosen.truth, lambda left, right: left.stem)
    return Work(items, many, _stereo_one, _line, _scores, threads_per_item=2)


def _stereo_one(pair: Pair, chosen) -> dict:
    """Process one pair and return its report."""
    from apps.common.images import write_bytes
    from apps.stereo_matching.disparities import stereo
    from apps.stereo_matching.disparity_figures import disparity_figure, error_figure
    from apps.stereo_matching.disparity_files import encoded, read_disparity
    from apps.stereo_matching.disparity_scores import check_truth, score_disparity

    left, right = read_image(pair.first, "left"), read_image(pair.second, "right")
    truth = known = None
    if pair.truth is not None:
        truth, known = read_disparity(pair.truth, chosen.truth_scale, "--truth")
        check_truth(truth, known, left.shape[:2])
    result = stereo(
        left,
        right,
        max_disparity=chosen.max_disparity,
        smoothness=chosen.smoothness,
        subpixel=chosen.subpixel,
        device=chosen.device,
    )
    figures = {"colour": disparity_figure(result.disparity), "valid": result.valid.astype("uint8") * 255}
    if truth is not None:
        figures["error"] = error_figure(result.disparity, truth, known)
    start = f"{chosen.out}/{pair.first.stem}"
    data = encoded(result.disparity, chosen.format)
    files = {"disparity": write_bytes(f"{start}-disparity.{chosen.format}", data)}
    files |= {kind: write_image(f"{start}-{kind}.png", pixels) for kind, pixels in figures.items()}
    report = report_of(
        {"pair": f"{pair.first} | {pair.second}"},
        left.shape[:2],
        result.seconds,
        files,
        max_disparity=result.max_disparity,
        valid_percent=round(100.0 * float(result.valid.mean()), 3),
        energies=[int(one.energy) for one in result.solved],
        device=result.solved[0].device,
    )
    if truth is not None:
        report["truth"] = score_disparity(result.disparity, truth, known)
    return report


def _line(report) -> str:
    found = f"disparities up to {report['max_disparity']}", f"{report['valid_percent']:.1f} % valid"
    return line_of(report, *found) + _scores([report])


def _scores(reports) -> str:
    means = mean_scores(reports, "bad_10", "visible_bad_10")
    return "; off by more than 1 px: {:.2f} % of all pixels, {:.2f} % of visible ones".format(*means) if means else ""


PROGRAM = Program("stereo", __doc__, "pair", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
