"""How near things are, from two pictures of a rectified pair: disparities by graph cuts.

  cutmatch stereo left.png right.png                    a pair of one size, rows at the same height
  cutmatch stereo lefts/ rights/                        two folders: rights/NAME.png goes with lefts/NAME.jpg
  cutmatch stereo left.png right.png --truth t.pfm      with rates of bad pixels and a picture of the error

Every pixel gets the whole disparity that explains the right picture best while its neighbours have nearly the same,
by alpha-expansion; every move is an exact cut.  Both pictures are labelled, and where they disagree the pixel is
hidden from one camera, or wrong: it is filled from beside it.

Each pair gives, in the --out folder, under the left picture's name: NAME-disparity.png (16 bits: disparity * 256
rounded, as KITTI keeps it; or what --format says), NAME-colour.png (near is red, with the scale), NAME-valid.png (255
where both pictures agree), and with --truth NAME-error.png.

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
from apps.many.batch import Item, beside, pairs_of, partner_of, run_many, run_one

COSTS = ("birchfield-tomasi", "absolute")
FORMATS = ("png", "pfm", "npy")
INPUTS = ("left", "right", "truth")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pictures, and the truth if it is known: paths."""

    left: Path
    right: Path
    truth: Path | None


def stereo(left, right, **settings):
    """Disparities of a rectified pair of pictures.

    Parameters
    ----------
    left, right : array_like, (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA pictures of one size, rows at the same height; unsigned integers, or floats in [0, 1].
    max_disparity : int, optional
        Largest disparity to look for, in pixels; guessed from matched points when absent.
    cost : {"birchfield-tomasi", "absolute"}
        How unlike two pixels are; see apps.stereo.costs.
    smoothness : float, default 13
        Grey levels that a step of one pixel of disparity costs between neighbours of one colour.
    smoothness_term : {"linear", "potts", "quadratic"}
        How that grows with the step.
    truncate : int, default 5
        Most that a step costs, in multiples of `smoothness`.
    consistency_check : bool, default True
        Label the right picture too, and fill what disagrees.
    subpixel : bool, default False
        Fractions of pixels.
    device : {"auto", "cpu", "cuda"}
        Where the cuts are solved.

    Returns
    -------
    apps.stereo.disparities.Disparity
        `disparity` float32 (H, W) in pixels, `valid` bool (H, W), the solver's results, seconds by
        stage.

    Raises
    ------
    InputError
        A ValueError whose message is one line for the user: sizes that differ, pictures the wrong way round, a setting
        out of range.

    Notes
    -----
    Memory 16 bytes for each pixel and disparity, twice that with `consistency_check`; time grows with their number.
    """
    from apps.stereo.disparities import disparities

    return disparities(left, right, **settings)


def _options():
    options = parser("stereo", __doc__)
    options.add_argument("left", help="left picture, or a folder of them")
    options.add_argument("right", help="right picture, or a folder of them by the same names")
    how = options.add_argument_group("how")
    how.add_argument("--max-disparity", type=int, metavar="PIXELS", help="largest to look for (default: guessed)")
    how.add_argument("--cost", choices=COSTS, default=COSTS[0], help="how unlike two pixels are (default: %(default)s)")
    how.add_argument("--smoothness", type=float, default=13.0, metavar="LEVELS", help="grey levels a step costs (13)")
    how.add_argument(
        "--smoothness-term", choices=SMOOTHNESS_TERMS, default="linear", help="how cost grows with a step (linear)"
    )
    how.add_argument("--truncate", type=int, default=5, metavar="STEPS", help="most that a step counts (5)")
    how.add_argument("--no-consistency-check", action="store_true", help="label the left picture only, fill nothing")
    how.add_argument("--subpixel", action="store_true", help="fractions of pixels")
    options.add_argument("--format", choices=FORMATS, default="png", help="of the disparities (default: png)")
    options.add_argument("--truth", metavar="FILE", help="true disparities, or a folder of them: adds scores")
    options.add_argument("--truth-scale", type=float, metavar="LEVELS", help="values of the truth per pixel")
    add_batch_options(options)
    add_shared_options(options, "out")
    return options


def _main(argv) -> int:
    chosen = parsed(_options(), argv)
    threads = check_threads(chosen.threads)
    check_device(chosen.device)
    if chosen.truth_scale is not None and not 1e-6 <= chosen.truth_scale <= 1e6:
        raise InputError(f"--truth-scale must be above 0, got {chosen.truth_scale}; 1e-6 to 1e6 will do")
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
        at_once=max(1, threads // 2),  # a pair keeps two threads busy by itself
    )


def _files(name: str, chosen) -> dict[str, Path]:
    """What a pair gives, by kind."""
    kinds = ("colour", "valid", "error") if chosen.truth is not None else ("colour", "valid")
    folder = Path(chosen.out)
    files = {"disparity": folder / f"{name}-disparity.{chosen.format}"}
    return files | {kind: folder / f"{name}-{kind}.png" for kind in kinds}


def _pair(left: Path, right: Path | None, chosen) -> Pair:
    if right is None:
        right = partner_of(left, chosen.right, "right")
    return Pair(left, right, beside(chosen.truth, left.stem, "--truth"))


def _stereo_one(pair: Pair, chosen) -> dict:
    """Read, label, write; the report.  Nothing is written unless all of it can be."""
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
    if chosen.format == "png" and max_disparity is None:  # refused before the work, which may take a minute
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
    return f"; off by more than 1 px: {every:.2f} %, of what both see {seen:.2f} %"


def main(argv=None) -> int:
    """The command; its exit status."""
    return run(_main, "stereo", argv)


if __name__ == "__main__":
    sys.exit(main())
