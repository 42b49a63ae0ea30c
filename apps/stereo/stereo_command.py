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

Exit status: 0 done, 1 some pairs of a folder failed or the disk is full, 2 the input cannot be used, 70 a defect in
cutmatch.
"""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apps.common.command import (
    add_batch_options,
    add_shared_options,
    check_device,
    check_threads,
    in_batch,
    parsed,
    parser,
    run,
)
from apps.common.images import InputError, read_image, write_image
from apps.common.labelling import SMOOTHNESS_TERMS
from apps.common.outputs import claim
from apps.many.batch import Item, companion_of, pairs_of, partner_of, run_many, run_one

COSTS = ("birchfield-tomasi", "absolute")
FORMATS = ("png", "pfm", "npy")
INPUTS = ("left", "right", "truth")


@dataclass(frozen=True, slots=True)
class Pair:
    """Paths of two images and, if known, of the ground truth."""

    left: Path
    right: Path
    truth: Path | None


def stereo(left, right, **settings):
    """Compute the disparity map of a rectified image pair by graph cuts.

    Parameters
    ----------
    left, right : array_like, (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA images of the same size, rectified; unsigned integers, or floats in [0, 1].
    max_disparity : int, optional
        Largest disparity to search, in pixels, below the width; estimated from matched points if absent.
    cost : {"birchfield-tomasi", "absolute"}
        Dissimilarity of two pixels; see `apps.stereo.costs`.
    smoothness : float, default 13
        Cost of a one-pixel disparity step between neighbours of equal colour, in grey levels; at most 1000.
    smoothness_term : {"linear", "potts", "quadratic"}
        How the cost grows with the step.
    truncate : int, default 5
        Maximum cost of a step, in multiples of `smoothness`.
    consistency_check : bool, default True
        Label the right image too, and fill the pixels where the two labellings disagree.
    subpixel : bool, default False
        Refine the disparities to fractions of a pixel.
    device : {"auto", "cpu", "cuda"}
        Where the cuts are solved.  "auto" uses a GPU if one is available.

    Returns
    -------
    apps.stereo.disparities.Disparity
        `disparity` float32 (H, W) in pixels, `valid` bool (H, W), the solver's results, seconds per stage.

    Raises
    ------
    InputError
        A ValueError with a one-line message for the user: different sizes, exchanged images, or a parameter out of
        range.

    Notes
    -----
    Memory is 16 bytes per pixel and disparity, twice that with `consistency_check`.  Time grows with the number of
    pixels times the number of disparities.

    References
    ----------
    .. [1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
    .. [2] Birchfield, Tomasi. "A pixel dissimilarity measure that is insensitive to image sampling." PAMI 20(4), 1998.
    """
    from apps.stereo.disparities import disparities

    return disparities(left, right, **settings)


def _options():
    options = parser("stereo", __doc__)
    options.add_argument("left", help="left image, or a folder of them")
    options.add_argument("right", help="right image, or a folder of them with the same names")
    how = options.add_argument_group("method")
    how.add_argument(
        "--max-disparity", type=int, metavar="PIXELS", help="largest disparity to search (default: estimated)"
    )
    how.add_argument(
        "--cost", choices=COSTS, default=COSTS[0], help="dissimilarity of two pixels (default: %(default)s)"
    )
    how.add_argument(
        "--smoothness",
        type=float,
        default=13.0,
        metavar="LEVELS",
        help="cost of a one-pixel disparity step, in grey levels (default: 13)",
    )
    how.add_argument(
        "--smoothness-term",
        choices=SMOOTHNESS_TERMS,
        default="linear",
        help="growth of the cost with the step (default: linear)",
    )
    how.add_argument(
        "--truncate",
        type=int,
        default=5,
        metavar="STEPS",
        help="truncate the cost at this many one-pixel steps (default: 5)",
    )
    how.add_argument("--no-consistency-check", action="store_true", help="label the left image only, fill nothing")
    how.add_argument("--subpixel", action="store_true", help="refine disparities to fractions of a pixel")
    options.add_argument("--format", choices=FORMATS, default="png", help="format of the disparity file (default: png)")
    options.add_argument("--truth", metavar="FILE", help="ground-truth disparities, or a folder of them; adds scores")
    options.add_argument(
        "--truth-scale", type=float, metavar="LEVELS", help="grey levels of the ground truth per pixel of disparity"
    )
    add_batch_options(options)
    add_shared_options(options, "out")
    return options


def _main(argv) -> int:
    chosen = parsed(_options(), argv)
    threads = check_threads(chosen.threads)
    check_device(chosen.device)
    if chosen.truth_scale is not None and not 1e-6 <= chosen.truth_scale <= 1e6:
        raise InputError(f"--truth-scale must be 1e-6 to 1e6, got {chosen.truth_scale}")
    if chosen.format == "png" and chosen.max_disparity is not None:
        from apps.stereo.disparity_files import check_png

        check_png(chosen.max_disparity)
    pairs, many = pairs_of(chosen.left, chosen.right, ("left", "right"), chosen.out)
    items = [
        Item(
            left.stem,
            str(left) if right is None else f"{left} | {right}",
            partial(_pair, left, right, chosen),
            tuple(_files(left.stem, chosen).values()),
            left,
        )
        for left, right in pairs
    ]
    if not in_batch(many, chosen):
        return run_one("stereo", _stereo_one, items[0], _line, chosen, INPUTS)
    return run_many(
        "stereo",
        "pair",
        _stereo_one,
        items,
        _line,
        _scores,
        chosen,
        total=len(pairs),
        inputs=INPUTS,
        concurrent_items=max(1, threads // 2),  # one pair uses two threads
    )


def _files(name: str, chosen) -> dict[str, Path]:
    """Return the output files of a pair, by kind."""
    kinds = ("colour", "valid", "error") if chosen.truth is not None else ("colour", "valid")
    folder = Path(chosen.out)
    files = {"disparity": folder / f"{name}-disparity.{chosen.format}"}
    return files | {kind: folder / f"{name}-{kind}.png" for kind in kinds}


def _pair(left: Path, right: Path | None, chosen) -> Pair:
    if right is None:
        right = partner_of(left, chosen.right, "right")
    return Pair(left, right, companion_of(chosen.truth, left.stem, "--truth"))


def _stereo_one(pair: Pair, chosen) -> dict:
    """Process one pair and return its report.  All results are encoded before the first file is written."""
    from apps.common.images import write_bytes
    from apps.stereo.disparities import default_max_disparity
    from apps.stereo.disparity_figures import disparity_figure, error_figure
    from apps.stereo.disparity_files import check_png, encoded, read_disparity
    from apps.stereo.disparity_scores import check_truth, score_disparity

    left, right = read_image(pair.left, "left"), read_image(pair.right, "right")
    truth = known = None
    if pair.truth is not None:
        truth, known = read_disparity(pair.truth, chosen.truth_scale, "--truth")
        check_truth(truth, known, left.shape[:2])
    max_disparity = chosen.max_disparity
    if chosen.format == "png" and max_disparity is None:  # checked before labelling, which may take a minute
        max_disparity = default_max_disparity(left, right)
        check_png(max_disparity)
    result = stereo(
        left,
        right,
        max_disparity=max_disparity,
        cost=chosen.cost,
        smoothness=chosen.smoothness,
        smoothness_term=chosen.smoothness_term,
        truncate=chosen.truncate,
        consistency_check=not chosen.no_consistency_check,
        subpixel=chosen.subpixel,
        device=chosen.device,
    )
    figures = {
        "colour": disparity_figure(result.disparity, float(result.max_disparity)),
        "valid": result.valid.astype("uint8") * 255,
    }
    if truth is not None:
        figures["error"] = error_figure(result.disparity, truth, known)
    data = encoded(result.disparity, chosen.format)
    files = _files(pair.left.stem, chosen)
    claim(chosen, "stereo", pair.left.stem, pair.left, files.values())
    write_bytes(files["disparity"], data)
    for kind, pixels in figures.items():
        write_image(files[kind], pixels)
    report = {
        "pair": f"{pair.left} | {pair.right}",
        "width": left.shape[1],
        "height": left.shape[0],
        "max_disparity": result.max_disparity,
        "valid_percent": round(100.0 * float(result.valid.mean()), 3),
        "energies": [int(one.energy) for one in result.solved],
        "seconds": {stage: round(seconds, 4) for stage, seconds in result.seconds.items()},
        "device": result.solved[0].device,
        "files": {kind: str(path) for kind, path in files.items()},
    }
    if truth is not None:
        report["truth"] = score_disparity(result.disparity, truth, known).as_dict()
    return report


def _line(report) -> str:
    text = (
        f"{report['pair']}: {report['width']}x{report['height']}, disparities up to {report['max_disparity']}, "
        f"{report['valid_percent']:.1f} % valid, {report['seconds']['total']:.2f} s -> {report['files']['disparity']}"
    )
    return text + _scores([report])


def _scores(reports) -> str:
    scored = [report["truth"] for report in reports if "truth" in report]
    if not scored:
        return ""
    every, seen = (sum(s[name] for s in scored) / len(scored) for name in ("bad_10", "visible_bad_10"))
    return f"; off by more than 1 px: {every:.2f} % of all pixels, {seen:.2f} % of visible ones"


def main(argv=None) -> int:
    """Run the command; return its exit status."""
    return run(_main, "stereo", argv)


if __name__ == "__main__":
    sys.exit(main())
