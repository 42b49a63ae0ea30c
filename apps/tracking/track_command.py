"""Track particles or corners through a sequence.

  cutmatch track movie.avi --search-range 8               detect points in each frame and link them
  cutmatch track frames/ --detect dark --size 9           a folder of frames; dark particles of 9 pixels diameter
  cutmatch track stack.npy --memory 3 --predict velocity  tracks may be lost for 3 frames, predicted by their velocity
  cutmatch track detections.csv --search-range 12         given detections: columns frame, x, y, and any others
  cutmatch track movie.mp4 --points points.csv            given points of the first frame: columns x, y
  cutmatch track a.avi b.avi c/ --workers 2               several sequences, independently

The points of each frame are linked to the active tracks by an exact one-to-one assignment, which minimises the sum of
squared distances; leaving a track unlinked costs the square of the search range.  Crowds of any size are solved
exactly.  Corners of photographs are predicted from the images (--predict image); particles are expected at their last
position.  --global links all frames together, without prediction: with --memory, fewer links are wrong if points are
missed or noise is detected.  Results in the --out folder: NAME-tracks.csv, with the columns track, frame, x, y, ...,
link_margin, and of frames NAME-trails.png.  The margin of a link is a lower bound on the cost increase of its frame
without it.

Given points are followed from frame to frame.  Their table says of each frame whether the point is seen or occluded,
and with which confidence; it ends where the point leaves the frame or is lost.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from apps.common.clock import Clock
from apps.common.command import spelled
from apps.common.file_kinds import stem_of
from apps.common.images import InputError, write_image
from apps.run.inputs import Job, check_out_is_not_input, check_unique_names, image_items, job_of
from apps.run.program import Program, Work, frame_bar, line_of, report_of
from apps.tracking import DETECTORS, LINKERS, THRESHOLD

PREDICTIONS = ("off", "velocity", "image")
MIN_DETECTIONS = 4  # of a sequence
IMAGE_SEARCH_RANGE = 2.0  # pixels: default with --predict image
IMAGE_MEMORY = 3  # frames: default with --predict image
INPUTS = ("input", "points")


def _add_options(options) -> None:
    options.add_argument("input", nargs="+", help="videos, folders of frames, stacks, or CSV files of detections")
    options.add_argument("--points", metavar="FILE", help="CSV with columns x, y: points of the first frame to follow")
    found = options.add_argument_group("detection")
    found.add_argument("--detect", choices=DETECTORS, default=DETECTORS[0], help="auto: chosen from the first frame")
    found.add_argument("--size", type=int, metavar="PIXELS", help="particle diameter, or least distance of corners")
    noise = f"least brightness in multiples of the noise (default: {THRESHOLD:g}, on large frames up to 6)"
    found.add_argument("--threshold", type=float, metavar="T", help=noise)
    linked = options.add_argument_group("linking")
    far = "largest distance from the prediction (default: half the point spacing; 2 with --predict image)"
    linked.add_argument("--search-range", type=float, metavar="PIXELS", help=far)
    lost = "frames for which a track may be lost (default: 0; 3 with --predict image; 20 with --points)"
    linked.add_argument("--memory", type=int, metavar="FRAMES", help=lost)
    linked.add_argument("--predict", choices=PREDICTIONS, help="prediction (default: image for corners, else off)")
    together = {"const": LINKERS[1], "default": LINKERS[0], "help": "link all frames together at minimum total cost"}
    linked.add_argument("--global", dest="linker", action="store_const", **together)
    linked.add_argument("--min-length", type=int, default=1, metavar="N", help="drop tracks with fewer detections")
    shown = options.add_argument_group("results")
    shown.add_argument("--video", metavar="FILE", help="trails over every frame, as .mp4, .avi or .gif")
    shown.add_argument("--tail", type=int, default=20, metavar="FRAMES", help="length of a trail in the video")


def _plan(chosen) -> Work:
    _check(chosen)
    from apps.common.sequences import check_video

    if chosen.video:
        check_video(chosen.video)
    paths = [Path(name) for name in chosen.input]
    check_out_is_not_input(paths, chosen.out, "input")
    if chosen.video:
        check_out_is_not_input(paths, Path(chosen.video).parent, "input", "--video")
    items = image_items(paths, partial(job_of, chosen, INPUTS[1:]))
    check_unique_names(paths, "input")
    if chosen.video and (len(paths) > 1 or chosen.scheduler):
        raise InputError("--video takes the result of one sequence; omit it for several inputs, and with --scheduler")
    work = _follow_one if chosen.points else _track_one
    return Work(items, len(paths) > 1, work, _line, threads_per_item=None)


def _track_one(job: Job, chosen) -> dict:
    """Detect, link and write one sequence; return its report."""
    from apps.tracking.follow import Follower
    from apps.tracking.track_files import read_detections
    from apps.tracking.tracking import keep_long, track

    clock = Clock()
    sequence = finder = last = None
    if job.image.suffix.lower() == ".csv":
        if option := "--predict image" if chosen.predict == "image" else chosen.video and "--video":
            raise InputError(f"{option} needs frames; a table of detections has none")
        detections = read_detections(job.image)
        frames = int(detections.frame.max() - detections.frame.min()) + 1
    else:
        from apps.common.sequences import open_sequence

        sequence = open_sequence(job.image)
        detections, finder, last, frames = _detect(sequence, chosen)
    if len(detections) < MIN_DETECTIONS:
        raise InputError(
            f"input: {len(detections)} points in {frames} frames of {str(job.image)!r}, too few to track; "
            "try --detect, --size or a lower --threshold"
        )
    settings = _linking_settings(chosen, detections, finder)
    how = {"linker": chosen.linker, "device": chosen.device, "progress": frame_bar(chosen, "linking")}
    how["predict"] = Follower(sequence) if settings["predict"] == "image" else settings["predict"] == "velocity"
    tracks = track(detections, **settings | how)
    tracks = keep_long(tracks, chosen.min_length)
    if not len(tracks):
        raise InputError(f"no track is {chosen.min_length} detections long; lower --min-length or raise --search-range")
    files = _write(tracks, sequence, last, job.image, frames, chosen)
    length = tracks.length
    facts = {
        "frames": frames,
        "detections": len(detections),
        "detector": None if finder is None else {"kind": finder.kind, "size": finder.size},
        **settings,
        "tracks": len(tracks),
        "links": len(tracks.link),
        "mean_length": round(float(length.mean()), 3),
        "longest": int(length.max()),
    }
    return _report(job, clock, files, facts)


def _report(job: Job, clock: Clock, files: dict[str, Path], facts: dict) -> dict:
    facts["device"] = "cpu"  # sparse assignments are solved on the CPU on every device
    return report_of({"input": str(job.image)}, (), clock.total(), files, **facts)


def _follow_one(job: Job, chosen) -> dict:
    """Follow given points through one sequence and write them; return its report."""
    from apps.common.sequences import open_sequence
    from apps.tracking.follow import MEMORY, STATES, follow
    from apps.tracking.track_files import read_points

    if job.image.suffix.lower() == ".csv":
        raise InputError("--points are followed through frames; pass a video or a folder, or omit --points")
    clock = Clock()
    points, sequence, last = read_points(job.files["points"]), open_sequence(job.image), None

    def frames():
        nonlocal last
        for frame in frame_bar(chosen, "following", sequence.count)(sequence):
            last = frame
            yield frame

    memory = MEMORY if chosen.memory is None else chosen.memory
    found = follow(frames(), points, memory=memory, device=chosen.device)
    files = _write(found.tracks(), sequence, last, job.image, len(found.state), chosen)
    states = {name: int((found.state[-1] == state).sum()) for state, name in enumerate(STATES)}
    facts = {"frames": len(found.state), "points": len(points), "memory": memory, "last_states": states}
    return _report(job, clock, files, facts)


def _check(chosen) -> None:
    from apps.tracking.detect import check_finder
    from apps.tracking.tracking import check_settings

    search_range = 1.0 if chosen.search_range is None else chosen.search_range
    predict = False if chosen.predict in (None, "off") else chosen.predict
    check_settings(search_range, chosen.memory or 0, predict, chosen.linker, spelled)
    check_finder(chosen.size, chosen.threshold, spelled)
    for option, number in (("--min-length", chosen.min_length), ("--tail", chosen.tail)):
        if number < 1:
            raise InputError(f"{option} must be 1 or more, got {number}")
    linking = chosen.detect != DETECTORS[0] or chosen.linker != LINKERS[0] or chosen.min_length > 1
    if chosen.points and (linking or any((chosen.size, chosen.threshold, chosen.search_range, chosen.predict))):
        raise InputError("--points are neither detected nor linked; omit the options of detection and linking")


def _linking_settings(chosen, detections, finder) -> dict:
    """Return prediction, search range and memory; defaults depend on the kind of detections."""
    from apps.tracking.tracking import default_search_range

    corners = finder is not None and finder.kind == "corners"
    predict = chosen.predict or ("image" if corners and chosen.linker != "global" else "off")
    search_range, memory = chosen.search_range, chosen.memory
    if search_range is None:
        search_range = IMAGE_SEARCH_RANGE if predict == "image" else default_search_range(detections)
    if memory is None:
        memory = IMAGE_MEMORY if predict == "image" else 0
    return {"predict": predict, "search_range": round(search_range, 6) or search_range, "memory": memory}


def _detect(sequence, chosen):
    """Detect points in all frames, several concurrently; return them, the detector, the last frame and their number."""
    from apps.common.row_blocks import mapped
    from apps.tracking.detect import choose_finder
    from apps.tracking.tracking import Detections
    from gridcut.device import thread_count

    threads, bar = thread_count(), frame_bar(chosen, "detecting", sequence.count)
    finder: Any = None  # a sequence has at least one frame
    last = None

    def frames():
        nonlocal finder, last
        for last in bar(sequence):
            finder = finder or choose_finder(last, chosen.detect, chosen.size, chosen.threshold)
            yield last

    # Frames are large: few are read in advance.
    found = list(mapped(lambda frame: finder(frame), frames(), threads, 2 * threads))
    number = np.repeat(np.arange(len(found)), [len(position) for position, _ in found])
    position, weight = (np.concatenate(part) for part in zip(*found, strict=True))
    detections = Detections(number, position, {"mass" if finder.kind != "corners" else "score": weight})
    return detections, finder, last, len(found)


def _write(tracks, sequence, last, source: Path, frames: int, chosen) -> dict:
    from apps.common.sequences import write_video
    from apps.tracking.track_files import write_tracks
    from apps.tracking.trails import Trails

    folder, name = Path(chosen.out), stem_of(source)
    files = {"table": write_tracks(folder / f"{name}-tracks.csv", tracks)}
    if sequence is not None:
        trails = Trails(tracks, sequence.shape)
        files["trails"] = write_image(folder / f"{name}-trails.png", trails.figure(last))
    if chosen.video:
        numbered = enumerate(frame_bar(chosen, "video", frames)(sequence))
        shown = (trails.frame_figure(number, frame, chosen.tail) for number, frame in numbered)
        files["video"] = write_video(chosen.video, shown, sequence.rate)
    return files


def _line(report) -> str:
    frames = f"points in {report['frames']} frames"
    if "points" in report:
        states = (f"{count} {name}" for name, count in report["last_states"].items())
        return line_of(report, f"{report['points']} {frames}", f"in the last {', '.join(states)}")
    linked = f"{report['tracks']} tracks", f"{report['links']} links", f"mean length {report['mean_length']:.1f}"
    return line_of(report, f"{report['detections']} {frames}", *linked, f"search range {report['search_range']:.1f}")


PROGRAM = Program("track", __doc__, "input", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
