"""What `cutmatch segment` does with a clip: its strokes, the masks and the overlay video, the report and its line."""

import os
import re
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

from apps.common.clock import Clock
from apps.common.command import passed
from apps.common.errors import print_error
from apps.common.file_kinds import VIDEOS, stem_of
from apps.common.images import InputError, as_floats, check_same_size, images_by_number, to_bytes, write_image
from apps.run.inputs import Job, check_out_is_not_input, image_items
from apps.run.program import Work, frame_bar, report_of
from apps.segmentation.location import FILES, LOCATING, check_options
from apps.segmentation.result_files import kinds_of
from apps.segmentation.strokes import parse_box

MIN_DIGITS = 4  # of a frame's number in the names of results


def is_clip(name: str) -> bool:
    """Whether a name is that of a video file."""
    return Path(name).suffix.lower() in VIDEOS and not os.path.isdir(name)


def plan(chosen) -> Work:
    """The clip of a run; InputError for several inputs, and for options that clips do not have."""
    check_options(chosen, "clips")
    given: dict[str, Any] = {option: getattr(chosen, option) for option in LOCATING["clips"] if passed(chosen, option)}
    chosen.kinds = kinds_of(chosen.write, "a clip")
    clip = Path(chosen.image[0])
    if len(chosen.image) > 1:
        raise InputError(f"image: {len(chosen.image)} inputs, of which one is a clip; pass one clip, or images alone")
    files = {option: Path(given) for option, given in given.items() if option in FILES}
    check_out_is_not_input([clip, *files.values()], chosen.out, "image")
    hints = given | files | ({"box": parse_box(given["box"])} if "box" in given else {})
    return Work(image_items([clip], lambda path: Job(path, hints)), False, process, line, threads_per_item=None)


def process(job: Job, chosen) -> dict:
    """Segment a clip and return its report."""
    from apps.common.figures import overlay
    from apps.common.sequences import open_sequence, write_video
    from apps.segmentation.hints import remarks_on
    from apps.segmentation.matte import cut_out
    from apps.segmentation.video import segment_marked_video

    clock = Clock()
    sequence = open_sequence(job.image, "image")
    kind = "trimap" if "trimap" in job.files else "strokes"
    files = stroke_files(job.files[kind], f"--{kind}", job.image) if kind in job.files else {}
    hints, count = _read_hints(job, sequence, files, kind, chosen)
    name, digits = stem_of(job.image), max(MIN_DIGITS, len(str(count - 1)))
    drawn = {"mask": lambda rgb, mask: mask.astype("uint8") * 255, "cutout": cut_out}
    drawn = {kind: draw for kind, draw in drawn.items() if kind in chosen.kinds}
    found = segment_marked_video(iter(sequence), hints, device=chosen.device, named=partial(_named, kind, files))
    written = {"overlay": Path(chosen.out) / f"{name}-overlay.mp4"} if "overlay" in chosen.kinds else {}
    rows: list = []

    def figures():
        for frame in frame_bar(chosen, "segmenting", count)(found):
            rgb = as_floats(frame.frame)
            for kind, draw in drawn.items():
                number = f"{kind}{frame.number:0{digits}}"
                path = Path(chosen.out) / f"{name}-{number}.png"
                written[number] = write_image(path, draw(rgb, frame.mask))
            notes = remarks_on(frame.mask) if frame.number in hints else ()
            for note in notes:
                print_error(f"cutmatch segment: {job.image}: frame {frame.number}: {note}")
            rows.append(_row(frame) | ({"warnings": list(notes)} if notes else {}))
            yield overlay(rgb, frame.mask) if "overlay" in written else None

    if "overlay" in written:
        write_video(written["overlay"], figures(), sequence.rate, "--out")
    else:
        deque(figures(), 0)
    facts = {"key_frames": sorted(hints), "frames": rows}
    return report_of({"image": str(job.image)}, sequence.shape, clock.total(), written, **facts)


def _row(frame) -> dict:
    """The report of a frame."""
    return {
        "frame": frame.number,
        "key_frame": frame.key,
        "object_pixels": int(frame.mask.sum()),
        "energy": None if frame.energy is None else round(frame.energy, 3),
        "certified": frame.is_certified,
        "seconds": round(frame.seconds, 4),
    }


def line(report) -> str:
    """The line of a clip."""
    rows = report["frames"]
    share = 100.0 * sum(row["object_pixels"] for row in rows) / (len(rows) * report["width"] * report["height"])
    keys = len(report["key_frames"])
    empty = sum(row["object_pixels"] == 0 for row in rows)
    lost = f", none in {empty} frames (add strokes there)" if empty else ""
    return (
        f"{report['image']}: {report['width']}x{report['height']}, {len(rows)} frames, {keys} key "
        f"frame{'s' * (keys > 1)}, object {share:.1f} %{lost}, {report['seconds']['total']:.2f} s, "
        f"{report['seconds']['total'] / len(rows):.3f} s per frame -> {next(iter(report['files'].values()))}"
    )


def stroke_files(strokes: Path, option: str, clip: Path) -> dict[int, Path]:
    """The stroke images in a file or folder by the number of the frame that each marks.

    The frame is that of the same name in a folder of frames, or else that of the last number in the name; of a single
    image without a number it is frame 0.  Raises InputError for a folder without images, for a file of one without a
    number, and for two of one frame.
    """
    names = [path.stem for path in images_by_number(clip)] if os.path.isdir(clip) else []
    files = images_by_number(strokes) if os.path.isdir(strokes) else [strokes]
    if not files:
        raise InputError(f"{option}: folder {str(strokes)!r} holds no image; name one like its frame, as 0030.png")
    found: dict[int, Path] = {}
    for path in files:
        numbers = [names.index(path.stem)] if path.stem in names else re.findall(r"\d+", path.stem)
        if not numbers and path != strokes:
            raise InputError(f"{option}: {path.name!r} names no frame; name it by its number, as 0030.png")
        other = found.setdefault(number := int(numbers[-1] if numbers else 0), path)
        if other != path:
            raise InputError(f"{option}: {other.name!r} and {path.name!r} both mark frame {number}; keep one of them")
    return found


def _read_hints(job: Job, sequence, files: dict[int, Path], kind: str, chosen) -> tuple[dict, int]:
    """The hints by the number of their frame, the box and the mask with frame 0; and the number of frames.

    Raises InputError for marks that do not fit.
    """
    from apps.segmentation.hints import Hints, combine, read_mask
    from apps.segmentation.strokes import read_strokes, read_trimap

    marks, count = {}, 0
    for number, frame in enumerate(sequence):
        count += 1
        if number in files:
            path = files[number]
            marks[number] = (
                read_trimap(path) if kind == "trimap" else read_strokes(path, chosen.encoding, to_bytes(frame))
            )
            check_same_size(marks[number], sequence.shape, _named(kind, files, number), "the frames are")
    if beyond := [number for number in sorted(files) if number >= count]:
        raise InputError(
            f"{_named(kind, files, beyond[0])} is beyond the end: the clip has {count} frames, 0 to {count - 1}; "
            "name stroke images by the number of their frame"
        )
    hints = {number: Hints(one) for number, one in marks.items()}
    if "box" in job.files or "start" in job.files:
        mask = read_mask(job.files["start"]) if "start" in job.files else None
        hints[0] = combine(sequence.shape, marks.get(0), job.files.get("box"), f"--{kind}", mask=mask)
        for note in hints[0].notes:
            print_error(f"cutmatch segment: {job.image}: {note}")
    return hints, count


def _named(kind: str, files, number: int) -> str:
    return f"--{kind}: {str(files[number])!r} (frame {number})" if number in files else f"frame {number}"
