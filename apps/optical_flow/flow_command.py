"""Compute the dense optical flow between two frames, or between successive frames of a sequence.

  cutmatch flow frame1.png frame2.png                  two frames of the same size
  cutmatch flow frames/                                a folder of frames, in the order of the numbers in their names
  cutmatch flow clip.avi                               a video, animation, multi-page TIFF, or .npy stack
  cutmatch flow frame1.png frame2.png --truth t.flo    with scores and an error figure
  cutmatch flow clip.avi --fast                        a less accurate flow in about a seventh of the time

Points of both frames are matched one-to-one by an exact assignment.  Their motion is interpolated without crossing
image edges, refined from coarse to fine, and fused with the unrefined motion by an exact minimum cut.  With --linker
windows, the sparse matches are those of many small complete bipartite graphs, one per window of the frames.  With
--fast, a grid of seeds is matched at a quarter of the size and fused with OpenCV's dense inverse search.

Each pair writes two files to the --out folder, under the first frame's name, and those of other kinds with --write:

  flow      NAME.flo, or the format of --format
  colour    NAME-colour.png: the Middlebury colour wheel, up to --max-motion
  error     NAME-error.png: the distance to --truth; by default with --truth
  arrows    NAME-arrows.png: the motion on the frame
  matches   NAME-matches.csv: the sparse matches
"""

import itertools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from apps.common.command import check_threads
from apps.common.images import InputError, by_number, check_same_size, write_bytes, write_image
from apps.optical_flow import LINKERS
from apps.optical_flow.frame import Frame
from apps.run.inputs import Item, check_unique_names, companion_of, images_in
from apps.run.program import Program, Work, line_of, mean_scores, report_of

INPUTS = ("frames", "truth")
PAIRS_AT_ONCE = 2  # of a sequence
FORMATS = ("flo", "npz")
SUFFIXES = {"flo": ".flo", "npz": ".npz", "matches": "-matches.csv"}
KINDS = ("flow", "colour", "error", "arrows", "matches")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two frames as paths or arrays, their ground truth, and the name and number of the results.

    `first_frame` and `second_frame` are the same frames, with what other pairs of the sequence computed from them.
    """

    name: str
    number: int
    shown: str
    first: object
    second: object
    truth: Path | None
    first_frame: Frame
    second_frame: Frame


def _add_options(options) -> None:
    options.add_argument("frames", nargs="+", help="two frames, or one folder, video or stack of frames")
    options.add_argument("--truth", metavar="FILE", help="true flow (.flo, KITTI .png), or a folder of them")
    written = f"files to write: some of {','.join(KINDS)}, or all (default: flow,colour, and with --truth error)"
    options.add_argument("--write", metavar="KIND,...", help=written)
    options.add_argument("--format", choices=FORMATS, default="flo", help="format of the flow file")
    options.add_argument("--linker", choices=LINKERS, default=LINKERS[0], help="how points are matched")
    solved = "with --linker windows: method of their assignments, such as lock_free (default: all as one batch)"
    options.add_argument("--method", metavar="NAME", default="auto", help=solved)
    options.add_argument("--fast", action="store_true", help="less accurate, in a seventh of the time; no windows")
    full = "motion drawn at full saturation (default: the largest)"
    options.add_argument("--max-motion", type=float, metavar="PIXELS", help=full)


def _plan(chosen) -> Work:
    if chosen.max_motion is not None and not chosen.max_motion > 0:
        raise InputError(f"--max-motion must be above 0 pixels, got {chosen.max_motion}")
    if chosen.fast or chosen.method != "auto":
        from apps.optical_flow.dense_flow import check_linker
        from assign.methods import METHODS

        check_linker(chosen.linker, chosen.fast, chosen.method, "--")
        if chosen.method not in ("auto", *METHODS):
            raise InputError(f"--method must be one of auto, {', '.join(METHODS)}, got {chosen.method!r}")
    chosen.kinds = _kinds(chosen)
    items, many, total = _pairs(chosen)
    # Several pairs at once: one is read or written, or runs on one thread, while another one uses the other threads.
    threads = max(1, check_threads(chosen.threads) // PAIRS_AT_ONCE)
    return Work(items, many, _flow_one, _line, _summary, total, threads_per_item=threads)


def _kinds(chosen) -> list[str]:
    """The kinds of files to write; InputError for unknown ones and for an error without what it needs."""
    known = [kind for kind in KINDS if kind != "error" or chosen.truth is not None]
    if chosen.write is None or chosen.write == "all":
        return known if chosen.write else known[: known.index("arrows")]
    kinds = chosen.write.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise InputError(f"--write: unknown kind {unknown[0]!r}; pass some of {','.join(KINDS)}, or all")
    if "error" in kinds and chosen.truth is None:
        raise InputError("--write error needs a ground truth; pass --truth, or omit error")
    return [kind for kind in KINDS if kind in kinds]


def _pairs(chosen):
    """Return the pairs in order, whether they form a sequence, and their number."""
    names, path = chosen.frames, Path(chosen.frames[0])
    if len(names) > 2:
        raise InputError(f"frames: got {len(names)} files; pass two frames, or one folder, video or stack")
    if len(names) == 1 and not os.path.isdir(path):
        from apps.common.sequences import is_single_image, open_sequence

        if is_single_image(path):
            raise InputError(f"frames: {names[0]!r} is a single frame; pass a second one, or a folder or video")
        sequence = open_sequence(path, "frames")

        def named(number):
            return f"{sequence.name}-{number:05d}", f"{path}: frame {number} -> {number + 1}"

        return _items(sequence, named, chosen, path), True, sequence.count - 1
    files = list(map(Path, names))
    if len(names) == 1:
        files = sorted(images_in(path, "frames", 2), key=by_number)
        check_unique_names(files, "frames")
    elif folders := [name for name in names if os.path.isdir(name)]:
        raise InputError(f"frames: {folders[0]!r} is a folder; pass two frames, or one folder alone")
    items = _items(files, lambda number: (files[number].stem, f"{files[number]} -> {files[number + 1]}"), chosen)
    return (items, True, len(files) - 1) if len(names) == 1 else (list(items), False, 1)


def _items(frames: Iterable, named: Callable[[int], tuple[str, str]], chosen, source: Path | None = None):
    """The item of each frame and the next, which share what is computed from a frame; drawn while others are at work.

    named    number of a pair -> name of its results, and its displayed name
    source   the file of a sequence
    """

    def pair(number, first, second):
        name, shown = named(number)
        truth = companion_of(chosen.truth, name, "--truth")
        return Pair(name, number, shown, first.source, second.source, truth, first, second)

    for number, both in enumerate(itertools.pairwise(map(Frame, frames))):
        yield Item(*named(number), partial(pair, number, *both), source)


def _flow_one(pair: Pair, chosen) -> dict:
    """Process one pair and return its report."""
    from apps.optical_flow import flow_figures
    from apps.optical_flow.dense_flow import flow_of_frames
    from apps.optical_flow.flow_files import encoded_flow, read_flow
    from apps.optical_flow.flow_scores import score_flow

    frames = pair.first_frame, pair.second_frame
    first = pair.first_frame.rgb
    truth: Any = None
    known: Any = None
    if pair.truth is not None:
        truth, known = read_flow(pair.truth, "--truth")
        check_same_size(truth[..., 0], first.shape[:2], "--truth", "the frames are")
    settings = {"linker": chosen.linker, "method": chosen.method, "fast": chosen.fast, "device": chosen.device}
    result = flow_of_frames(*frames, **settings)
    length = np.hypot(result.flow[..., 0], result.flow[..., 1])
    largest = float(length.max())
    scores = {} if truth is None else {"truth": score_flow(result.flow, truth, known).rounded()}
    draw = {
        "colour": lambda: flow_figures.keyed_figure(result.flow, chosen.max_motion or largest),
        "error": lambda: flow_figures.error_figure(result.flow, truth, known),
        "arrows": lambda: flow_figures.arrows(first, result.flow, result.valid, chosen.max_motion),
    }
    suffixes = SUFFIXES | {"flow": SUFFIXES[chosen.format]}
    files = {kind: Path(chosen.out) / f"{pair.name}{suffixes.get(kind, f'-{kind}.png')}" for kind in chosen.kinds}
    figures = {kind: draw[kind]() for kind in files if kind in draw}
    if "flow" in files:
        # The other format cannot hold both the flow at uncertain pixels and that they are uncertain.
        valid = result.valid if chosen.format == "npz" else None
        write_bytes(files["flow"], encoded_flow(files["flow"], result.flow, valid))
    for kind, pixels in figures.items():
        write_image(files[kind], pixels)
    if "matches" in files:
        result.matches.write(files["matches"])
    return report_of(
        {"pair": pair.shown, "frame": pair.number},
        first.shape[:2],
        result.seconds,
        files,
        matches=len(result.matches),
        valid_percent=round(100 * float(result.valid.mean()), 3),
        mean_motion=round(float(length.mean()), 4),
        max_motion=round(largest, 4),
        **scores,
    )


def _line(report) -> str:
    motion = f"motion {report['mean_motion']:.2f} px on average", f"{report['max_motion']:.1f} px at most"
    text = line_of(report, f"{report['matches']} matches", *motion, f"{report['valid_percent']:.1f} % valid")
    if "truth" in report:
        text += f"; EPE {report['truth']['epe']:.3f} px, Fl {report['truth']['fl']:.2f} %"
    return text


def _summary(reports) -> str:
    means = mean_scores(reports, "epe", "fl")
    return "; EPE {:.3f} px, Fl {:.2f} % on average".format(*means) if means else ""


PROGRAM = Program("flow", __doc__, "pair", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
