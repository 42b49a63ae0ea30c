"""Compute the dense optical flow between two frames, or between successive frames of a sequence.

  cutmatch flow frame1.png frame2.png                  two frames of the same size
  cutmatch flow frames/                                a folder of frames, in the order of the numbers in their names
  cutmatch flow clip.avi                               a video, animation, multi-page TIFF, or .npy stack
  cutmatch flow frame1.png frame2.png --truth t.flo    with scores and an error figure
  cutmatch flow clip.avi --video flow.mp4              also a video: the frame, and its flow in colours
  cutmatch flow clip.avi --fast                        a less accurate flow in about a seventh of the time

Points of both frames are matched one-to-one by an exact assignment.  Their motion is interpolated without crossing
image edges, refined from coarse to fine, and fused with the unrefined motion by an exact minimum cut.  With --linker
windows, the sparse matches are those of many small complete bipartite graphs, one per window of the frames.  With
--fast, a grid of seeds is matched at a quarter of the size and fused with OpenCV's dense inverse search.

Each pair writes to the --out folder, under the first frame's name: NAME.flo (or the format of --format),
NAME-colour.png (Middlebury colour wheel), NAME-arrows.png, NAME-warped.png (the second frame warped onto the first),
NAME-matches.csv, and with --truth NAME-error.png.  All pairs of a sequence have one scale.
"""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apps.common.clock import charge, shown_seconds
from apps.common.command import check_method, check_threads
from apps.common.images import InputError, by_number, check_same_size, read_image, to_rgb, write_bytes, write_image
from apps.many.inputs import Item, check_out_is_not_input, check_unique_names, companion_of, images_in
from apps.many.program import Program, Work, report_of
from apps.optical_flow import LINKERS
from apps.optical_flow.frame import SharedFrames, SharedPair

INPUTS = ("frames", "truth", "matches")
PAIRS_AT_ONCE = 2  # of a sequence
FORMATS = ("flo", "kitti", "npz")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two frames as paths or arrays, their ground truth and matches, and the name of the results.

    `shared` are the same two frames, with what other pairs of the sequence computed from them.
    """

    name: str
    shown: str
    first: object
    second: object
    truth: Path | None
    matches: Path | None
    shared: SharedPair


def _add_options(options) -> None:
    options.add_argument("frames", nargs="+", help="two frames, or one folder, video or stack of frames")
    options.add_argument(
        "--truth", metavar="FILE", help="ground-truth flow (.flo, KITTI .png, ...), or a folder of them"
    )
    options.add_argument("--format", choices=FORMATS, default="flo", help="format of the flow file (default: flo)")
    options.add_argument(
        "--matches", metavar="FILE", help="start from these matches (.csv, .json), or a folder of them"
    )
    options.add_argument(
        "--linker", choices=LINKERS, default=LINKERS[0], help="how points are matched (default: %(default)s)"
    )
    options.add_argument(
        "--method",
        metavar="NAME",
        default="auto",
        help="with --linker windows: method of their assignments, such as lock_free (default: all as one batch)",
    )
    options.add_argument(
        "--fast", action="store_true", help="less accurate, in about a seventh of the time; not with windows"
    )
    options.add_argument(
        "--max-motion", type=float, metavar="PIXELS", help="motion drawn at full saturation (default: the largest)"
    )
    options.add_argument(
        "--video", metavar="FILE", help="every frame of a sequence beside its flow in colours, as .mp4, .avi or .gif"
    )


def _plan(chosen) -> Work:
    if chosen.max_motion is not None and not chosen.max_motion > 0:
        raise InputError(f"--max-motion must be above 0 pixels, got {chosen.max_motion}")
    if chosen.fast or chosen.method != "auto":
        _check_linker(chosen)
    if chosen.video is not None:
        _check_video(chosen)
    items, many, total = _pairs(chosen)
    finish = partial(_finish, chosen)
    # Several pairs at once: one is read or written, or runs on one thread, while another one uses the other threads.
    threads = max(1, check_threads(chosen.threads) // PAIRS_AT_ONCE)
    return Work(items, many, _flow_one, _line, _summary, total, threads_per_item=threads, finish=finish)


def _check_linker(chosen) -> None:
    """Raise InputError for --fast and --method with a linker that has not these, and for an unknown method."""
    from apps.optical_flow.dense_flow import check_linker
    from assign.methods import METHODS

    check_linker(chosen.linker, chosen.fast, chosen.method, "--")
    found = {name: [on for on in ("cpu", "cuda") if of.find("dense", on)] for name, of in METHODS.items()}
    check_method(chosen.method, found, chosen.device)


def _check_video(chosen) -> None:
    """Raise InputError for --video of two frames, of another suffix, or among the frames."""
    from apps.common.sequences import check_video

    if len(chosen.frames) == 2:
        raise InputError("--video needs a sequence, got two frames; pass a folder, video or stack, or omit --video")
    path = check_video(chosen.video)
    check_out_is_not_input(map(Path, chosen.frames), path.parent, "frames", "--video")


def _pairs(chosen):
    """Return the pairs in order, whether they form a sequence, and the number of a video's pairs if known."""
    names, shared = chosen.frames, SharedFrames()
    if len(names) > 2:
        raise InputError(f"frames: got {len(names)} files; pass two frames, or one folder, video or stack")
    if len(names) == 2:
        first, second = map(Path, names)
        for path in (first, second):
            if os.path.isdir(path):
                raise InputError(f"frames: {str(path)!r} is a folder; pass two frames, or one folder alone")
        return [_item(first.stem, f"{first} -> {second}", first, second, chosen, shared)], False, 1
    path = Path(names[0])
    if os.path.isdir(path):
        files = sorted(images_in(path, "frames", 2), key=by_number)
        check_unique_names(files, "frames")
        items = [_item(a.stem, f"{a} -> {b}", a, b, chosen, shared) for a, b in zip(files, files[1:], strict=False)]
        return items, True, len(items)
    from apps.common.sequences import is_single_image, open_sequence

    if is_single_image(path):
        raise InputError(f"frames: {names[0]!r} is a single frame; pass a second one, or a folder or video")
    sequence = open_sequence(path, "frames")
    return _of_sequence(sequence, path, chosen, shared), True, None if sequence.count is None else sequence.count - 1


def _name_in(sequence, number: int) -> str:
    """Return the name of the results of a frame and the next one."""
    return f"{sequence.name}-{number:05d}"


def _of_sequence(sequence, path, chosen, shared):
    last = None
    for number, frame in enumerate(sequence):
        if last is not None:
            shown = f"{path}: frame {number - 1} -> {number}"
            yield _item(_name_in(sequence, number - 1), shown, last, frame, chosen, shared)
        last = frame


def _item(name: str, shown: str, first, second, chosen, shared: SharedFrames) -> Item:
    def pair():
        matches = companion_of(chosen.matches, name, "--matches")
        truth, frames = companion_of(chosen.truth, name, "--truth"), shared.pair(first, second)
        return Pair(name, shown, first, second, truth, matches, frames)

    sequence = None if isinstance(first, Path) else Path(chosen.frames[0])
    return Item(name, shown, pair, tuple(_files(name, chosen).values()), sequence)


def _files(name: str, chosen) -> dict[str, Path]:
    """Return the output files of a pair, by kind."""
    from apps.optical_flow.flow_files import SUFFIX_OF

    folder, suffix = Path(chosen.out), SUFFIX_OF[chosen.format]
    files = {
        "flow": folder / f"{name}{'-flow' if suffix == '.png' else ''}{suffix}",
        "matches": folder / f"{name}-matches.csv",
    }
    kinds = ("arrows", "warped", "colour", *(("error",) if chosen.truth is not None else ()))
    return files | {kind: folder / f"{name}-{kind}.png" for kind in kinds}


def _flow_one(pair: Pair, chosen) -> dict:
    """Process one pair and return its report.  All results are encoded before the first file is written."""
    import numpy as np

    from apps.motion.matches import Matches
    from apps.optical_flow import flow_figures
    from apps.optical_flow.dense_flow import flow_of_frames
    from apps.optical_flow.flow_files import encoded_flow, read_flow
    from apps.optical_flow.flow_scores import score_flow

    charge("import")
    frames = pair.shared.first.get(), pair.shared.second.get()
    first, second = (frame.rgb for frame in frames)
    truth = known = matches = None
    if pair.truth is not None:
        truth, known = read_flow(pair.truth, "--truth")
        check_same_size(truth[..., 0], first.shape[:2], "--truth", "the frames are")
    if pair.matches is not None:
        matches = Matches.read(pair.matches)
    charge("read")
    settings = {"linker": chosen.linker, "method": chosen.method, "fast": chosen.fast, "device": chosen.device}
    result = flow_of_frames(*frames, matches=matches, **settings)
    scores = None if truth is None else score_flow(result.flow, truth, known)
    charge("scores")

    figures = {"warped": flow_figures.warped_image(second, result.flow)}
    length = np.hypot(result.flow[..., 0], result.flow[..., 1])
    typical, largest = flow_figures.typical_motion(result.flow), float(length.max())
    certain = flow_figures.at_arrows(result.valid)
    if not _is_deferred(chosen):
        figures |= _figures(first, result.flow, certain, chosen.max_motion or typical, chosen.max_motion or largest)
    if truth is not None:
        figures["error"] = flow_figures.error_figure(result.flow, truth, known)
    charge("figures")
    planned = _files(pair.name, chosen)
    # Other formats cannot hold both the flow at uncertain pixels and that they are uncertain.
    valid = result.valid if planned["flow"].suffix == ".npz" else None
    data = encoded_flow(planned["flow"], result.flow, valid)
    files = {kind: planned[kind] for kind in ("flow", "matches", *figures)}
    write_bytes(files["flow"], data)
    for kind, pixels in figures.items():
        write_image(files[kind], pixels)
    result.matches.write(files["matches"])
    charge("write")
    report = report_of(
        {"pair": pair.shown},
        first.shape[:2],
        result.seconds,
        files,
        matches=len(result.matches),
        valid_percent=round(100 * float(result.valid.mean()), 3),
        mean_motion=round(float(length.mean()), 4),
        typical_motion=round(typical, 4),
        max_motion=round(largest, 4),
    )
    if _is_deferred(chosen):
        report["certain_arrows"] = np.packbits(certain).tobytes().hex()
    if scores is not None:
        report["truth"] = scores.as_dict()
    return report


def _finish(chosen, reports) -> dict:
    """Draw the figures of a sequence, and its video; return its average scores and the video for the JSON report."""
    if _is_deferred(chosen):
        _draw_all(chosen, reports)
    scores = _averages(reports)
    content: dict = {"truth": scores} if scores else {}
    if chosen.video is not None and reports:
        content["video"] = str(_write_video(chosen, reports))
    return content


def _write_video(chosen, reports) -> Path:
    """Write every frame beside its flow; frames whose flow failed are left out."""
    from apps.common.images import to_bytes
    from apps.common.scales import enlarged, side_by_side, zoom_of
    from apps.common.sequences import write_video

    rate, frames = _frames(chosen, reports)

    def figures():
        shape = None
        for report, get in frames:
            frame = to_bytes(get())
            coloured = to_bytes(read_image(report["files"]["colour"]))
            figure = side_by_side(enlarged(frame, zoom_of(frame.shape)), coloured)
            shape = shape or figure.shape
            check_same_size(figure, shape, f"--video: the figure of {report['pair']}", "that of the first is")
            yield figure

    return write_video(chosen.video, figures(), rate)


def _frames(chosen, reports):
    """The frames per second of a sequence, and for each report in order a function that returns its first frame."""
    from apps.common.sequences import DEFAULT_RATE, open_sequence

    path, rate, of = Path(chosen.frames[0]), DEFAULT_RATE, {_name_of(report): report for report in reports}
    if len(chosen.frames) == 2 or os.path.isdir(path):
        files = sorted(images_in(path, "frames", 2), key=by_number) if len(chosen.frames) == 1 else [path]
        frames = ((file.stem, partial(read_image, file, "frames")) for file in files)
    else:
        sequence = open_sequence(path, "frames")
        rate = sequence.rate
        frames = ((_name_in(sequence, number), partial(to_rgb, frame)) for number, frame in enumerate(sequence))
    return rate, ((of[name], get) for name, get in frames if name in of)


def _averages(reports) -> dict:
    """Return both averages of the scores, over the pairs with ground truth."""
    scored = [report["truth"] for report in reports if "truth" in report]
    if not scored:
        return {}
    from apps.optical_flow.flow_scores import BY_IMAGE, POOLED, FlowScores, average

    scores = [FlowScores(**values) for values in scored]
    return {how: average(scores, how).scores.as_dict() for how in (BY_IMAGE, POOLED)}


def _is_deferred(chosen) -> bool:
    """Whether colours and arrows are drawn after the last pair, because a sequence has one scale."""
    return chosen.many and chosen.max_motion is None


def _draw_all(chosen, reports) -> None:
    """Draw the flows of a sequence on one scale, that of the largest motion in any of them."""
    import numpy as np

    from apps.optical_flow.flow_figures import at_arrows
    from apps.optical_flow.flow_files import read_flow

    typical, largest = (max((report[key] for report in reports), default=0) for key in ("typical_motion", "max_motion"))
    for report, get in _frames(chosen, reports)[1]:
        field, _ = read_flow(report["files"]["flow"])
        places = at_arrows(field).shape[:2]
        bits = np.frombuffer(bytes.fromhex(report.pop("certain_arrows")), np.uint8)
        certain = np.unpackbits(bits, count=places[0] * places[1]).reshape(places) > 0
        for kind, figure in _figures(get(), field, certain, typical, largest).items():
            report["files"][kind] = str(write_image(_files(_name_of(report), chosen)[kind], figure))


def _figures(frame, field, certain, typical: float, largest: float) -> dict:
    """The arrows and the colours of a flow, by kind."""
    from apps.optical_flow.flow_figures import arrows, keyed_figure

    return {"arrows": arrows(frame, field, certain, typical, largest), "colour": keyed_figure(field, largest)}


def _name_of(report) -> str:
    """Return the name of a pair's results."""
    return Path(report["files"]["matches"]).name.removesuffix("-matches.csv")


def _line(report) -> str:
    text = (
        f"{report['pair']}: {report['width']}x{report['height']}, {report['matches']} matches, motion "
        f"{report['mean_motion']:.2f} px on average, {report['max_motion']:.1f} px at most, "
        f"{report['valid_percent']:.1f} % valid, {shown_seconds(report['seconds'])} -> {report['files']['flow']}"
    )
    if "truth" in report:
        text += f"; EPE {report['truth']['epe']:.3f} px, Fl {report['truth']['fl']:.2f} %"
    return text


def _summary(reports) -> str:
    text = ""
    for how, scores in _averages(reports).items():
        text += f"; {how}: EPE {scores['epe']:.3f} px, Fl {scores['fl']:.2f} %"
    return text


PROGRAM = Program("flow", __doc__, "pair", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
