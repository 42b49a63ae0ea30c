"""Follow the motion of every pixel from one frame to the next.

  cutmatch flow frame1.png frame2.png                  two frames of one size
  cutmatch flow frames/                                a folder of frames, by the numbers in their names
  cutmatch flow clip.avi                               a video, GIF, TIFF of many pages, or .npy stack
  cutmatch flow frame1.png frame2.png --truth t.flo    with scores and a picture of the error

Points of both frames are matched one-to-one by an exact assignment; their motion is filled along the edges of the
picture, refined, and fused with what a pyramid finds, by an exact cut.

Each pair gives, in the --out folder, under the first frame's name: NAME.flo (or what --format says),
NAME-colour.png (Middlebury colour wheel), NAME-arrows.png, NAME-warped.png (the second frame brought back onto
the first), NAME-matches.csv, and with --truth NAME-error.png.  The colours of a sequence have one scale.

Exit status: 0 done, 1 some pairs of a sequence failed, 2 the input cannot be used.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from apps.command import SOME_FAILED, add_shared_options, check_device, check_threads, parser, run, write_json
from apps.images import READABLE, InputError, read_image, write_image

FORMATS = ("flo", "kitti", "npy", "npz", "pfm")
LINKERS = ("assignment", "greedy", "mutual", "nearest")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two frames, or what it takes to read them, and what the results are called."""

    name: str
    shown: str
    first: object
    second: object


def flow(first, second, *, matches=None, linker: str = "assignment", device: str = "auto"):
    """Dense flow from one picture to another.

    Parameters
    ----------
    first, second : ndarray
        Grey, RGB or RGBA pictures of one size; integers, or floats in [0, 1].
    matches : apps.motion.matches.Matches, optional
        Sparse matches to start from; found when absent.
    linker : str
        How points are linked: "assignment" (exact), "greedy", "mutual" or "nearest".
    device : str
        Where assignments and cuts are solved: "auto", "cpu" or "cuda".

    Returns
    -------
    apps.motion.dense.Flow
        `flow` (H, W, 2) in pixels, x to the right and y down; `valid` (H, W); the matches; seconds of each stage.

    Raises
    ------
    InputError
        The frames differ in size, are too small, or have too little texture.
    """
    from apps.motion.dense import dense_flow

    return dense_flow(first, second, matches, linker=linker, device=device)


def _options():
    options = parser("flow", __doc__)
    options.add_argument("frames", nargs="+", help="two frames; or one folder, video or stack of frames")
    options.add_argument("--truth", metavar="FILE", help="true flow (.flo, KITTI .png, ...), or a folder by NAME")
    options.add_argument("--format", choices=FORMATS, default="flo", help="of the flow file (default: flo)")
    options.add_argument("--matches", metavar="FILE", help="start from these matches (.csv), or a folder by NAME")
    options.add_argument("--linker", choices=LINKERS, default="assignment", help="how points are linked")
    options.add_argument("--scale", type=float, metavar="PIXELS", help="motion shown in full colour")
    add_shared_options(options, "out")
    return options


def _main(argv) -> int:
    chosen = _options().parse_args(argv)
    threads = check_threads(chosen.threads)
    check_device(chosen.device)
    if chosen.scale is not None and not chosen.scale > 0:
        raise InputError(f"--scale must be above 0 pixels, got {chosen.scale}")
    pairs, count, many = _pairs(chosen.frames)
    if chosen.threads is not None:
        _limit_threads(threads)
    if not many:
        report, _ = _flow_one(next(iter(pairs)), chosen, many)
        if not chosen.quiet and chosen.json != "-":
            print(_line(report))
        if chosen.json:
            write_json(chosen.json, report)
        return 0
    return _flow_many(pairs, count, chosen)


def _flow_many(pairs, count, chosen) -> int:
    """Pair by pair; a failed one is reported and does not stop the others."""
    from tqdm import tqdm

    reports, failures, scores = [], [], []
    for pair in tqdm(pairs, total=count, unit="pair", disable=chosen.quiet, file=sys.stderr):
        try:
            report, score = _flow_one(pair, chosen, True)
        except (InputError, RuntimeError, MemoryError) as error:
            failures.append({"pair": pair.shown, "error": str(error)})
            continue
        reports.append(report)
        scores += [score] if score is not None else []
    _colour_all(reports, chosen.scale)
    summary = {"pairs": reports, "failures": failures}
    if scores:
        from apps.motion.scores import BY_IMAGE, POOLED, average

        summary["truth"] = {how: average(scores, how).scores.as_dict() for how in (BY_IMAGE, POOLED)}
    if not chosen.quiet and chosen.json != "-":
        for report in reports:
            print(_line(report))
        print(_summary(summary))
    for failure in failures:
        print(f"cutmatch flow: {failure['pair']}: {failure['error']}", file=sys.stderr)
    if chosen.json:
        write_json(chosen.json, summary)
    return SOME_FAILED if failures else 0


def _pairs(names):
    """The pairs to follow one after the other, how many (None: unknown), and whether it is a sequence."""
    if len(names) > 2:
        raise InputError(f"frames: got {len(names)} files; pass two frames, or one folder, video or stack")
    if len(names) == 2:
        first, second = map(Path, names)
        for path in (first, second):
            if path.is_dir():
                raise InputError(f"frames: {str(path)!r} is a folder; pass two frames, or one folder alone")
        return [Pair(first.stem, f"{first} -> {second}", first, second)], 1, False
    path = Path(names[0])
    if path.is_dir():
        files = [p for p in path.iterdir() if p.suffix.lower() in READABLE and not p.name.startswith(".")]
        if len(files) < 2:
            held = "one picture" if files else "no picture"
            raise InputError(f"frames: folder {names[0]!r} holds {held}; two or more are needed")
        files.sort(key=lambda p: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", p.name.lower())])
        stems = [p.stem for p in files]
        for stem in stems:
            if stems.count(stem) > 1:
                raise InputError(f"frames: {stems.count(stem)} pictures are called {stem!r}; keep one of them")
        pairs = [Pair(a.stem, f"{a} -> {b}", a, b) for a, b in zip(files, files[1:], strict=False)]
        return pairs, len(pairs), True
    if path.exists() and path.suffix.lower() in READABLE and path.suffix.lower() not in (".tif", ".tiff", ".gif"):
        raise InputError(f"frames: {names[0]!r} is one frame; pass a second, or a folder or video")
    from apps.motion.sequences import open_sequence

    sequence = open_sequence(path, "frames")
    return _of_sequence(sequence, path), None if sequence.count is None else sequence.count - 1, True


def _of_sequence(sequence, path):
    last = None
    for number, frame in enumerate(sequence):
        if last is not None:
            name = f"{sequence.name}-{number - 1:05d}"
            yield Pair(name, f"{path}: frame {number - 1} -> {number}", last, frame)
        last = frame


def _flow_one(pair: Pair, chosen, many: bool):
    """Read, follow, write; the report and the scores.  Nothing is written unless all of it can be."""
    import numpy as np

    from apps.motion import drawing
    from apps.motion.files import SUFFIX_OF, read_flow, write_flow
    from apps.motion.matches import Matches
    from apps.motion.scores import check_size, score_flow

    first, second = (read_image(f, "frames") if isinstance(f, Path) else f for f in (pair.first, pair.second))
    truth = known = matches = score = None
    if chosen.truth is not None:
        truth, known = read_flow(_beside(chosen.truth, pair.name, "--truth"), "--truth")
        check_size(first, truth)
    if chosen.matches is not None:
        matches = Matches.read(_beside(chosen.matches, pair.name, "--matches"))
    result = flow(first, second, matches=matches, linker=chosen.linker, device=chosen.device)
    if truth is not None:
        score = score_flow(result.flow, truth, known)

    folder = Path(chosen.out)
    suffix = SUFFIX_OF[chosen.format]
    flow_file = folder / f"{pair.name}{'-flow' if suffix == '.png' else ''}{suffix}"
    pictures = {
        "colour": drawing.flow_picture(result.flow, longest=chosen.scale),
        "arrows": drawing.arrows(first, result.flow, result.valid),
        "warped": drawing.warped_picture(second, result.flow),
    }
    if truth is not None:
        pictures["error"] = drawing.error_picture(result.flow, truth, known)
    files = {"flow": flow_file, "matches": folder / f"{pair.name}-matches.csv"}
    write_flow(flow_file, result.flow)
    for kind, pixels in pictures.items():
        files[kind] = folder / f"{pair.name}-{kind}.png"
        write_image(files[kind], pixels)
    result.matches.write(files["matches"])
    length = np.hypot(result.flow[..., 0], result.flow[..., 1])
    report = {
        "pair": pair.shown,
        "width": first.shape[1],
        "height": first.shape[0],
        "matches": len(result.matches),
        "valid_percent": round(100 * float(result.valid.mean()), 3),
        "mean_motion": round(float(length.mean()), 4),
        "most_motion": round(float(length.max()), 4),
        "seconds": {stage: round(seconds, 4) for stage, seconds in result.seconds.items()},
        "files": {kind: str(path) for kind, path in files.items()},
    }
    if score is not None:
        report["truth"] = score.as_dict()
    return report, score


def _colour_all(reports, scale) -> None:
    """Colour the flows of a sequence again with one scale: the most motion in any of them."""
    if scale is not None or len(reports) < 2:
        return
    from apps.motion.drawing import flow_picture
    from apps.motion.files import read_flow

    most = max(report["most_motion"] for report in reports)
    for report in reports:
        field, _ = read_flow(report["files"]["flow"])
        write_image(report["files"]["colour"], flow_picture(field, longest=most))


def _beside(given, name: str, option: str) -> Path:
    """The file given, or the one of the pair's name in the folder given."""
    from apps.strokes import find_by_stem

    return find_by_stem(given, name, option) if Path(given).is_dir() else Path(given)


def _limit_threads(threads: int) -> None:
    import cv2
    import numba

    cv2.setNumThreads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))


def _line(report) -> str:
    text = (
        f"{report['pair']}: {report['width']}x{report['height']}, {report['matches']} matches, motion "
        f"{report['mean_motion']:.2f} px on average, {report['most_motion']:.1f} px at most, "
        f"{report['valid_percent']:.1f} % valid, {report['seconds']['total']:.2f} s -> {report['files']['flow']}"
    )
    if "truth" in report:
        text += f"; EPE {report['truth']['epe']:.3f} px, Fl {report['truth']['fl']:.2f} %"
    return text


def _summary(summary) -> str:
    text = f"{len(summary['pairs'])} done, {len(summary['failures'])} failed"
    for how, scores in summary.get("truth", {}).items():
        text += f"; {how}: EPE {scores['epe']:.3f} px, Fl {scores['fl']:.2f} %"
    return text


def main(argv=None) -> int:
    """The command; its exit status."""
    return run(_main, "flow", argv)


if __name__ == "__main__":
    sys.exit(main())
