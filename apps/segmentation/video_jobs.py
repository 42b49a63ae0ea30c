"""What `cutmatch segment` does with a clip: its strokes, the masks and the overlay video, the report and its line."""

import os
import re
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from apps.common.command import passed
from apps.common.errors import print_error
from apps.common.images import READABLE, InputError, as_floats, check_same_size, to_bytes, write_image
from apps.common.stems import stem_of
from apps.run.inputs import Item, check_out_is_not_input, check_unique_names, companion_of
from apps.run.program import Work, frame_bar
from apps.segmentation.location import FILES, OF_CLIPS, OPTIONS, either

SUFFIXES = frozenset(".avi .mp4 .m4v .mov .mkv .webm .mpg .mpeg .wmv .flv .ogv .ts .mts .mxf".split())
NOT_FOR_CLIPS = (
    *(option for option in OPTIONS if option not in OF_CLIPS),
    "volume",
    "save_session",
    "fill_holes",
    "min_area",
    "soft_strokes",
    "keep",
    "truth",
    "spacing",
    "band",
    "connectivity",
)
KINDS = ("mask", "overlay", "cutout")  # files of a clip
DEFAULT_KINDS = ("mask", "overlay")
MAX_LISTED = 3  # key frames in a line, with the frames that follow them
MIN_DIGITS = 4  # of a frame's number in the names of results


@dataclass(frozen=True, slots=True)
class Job:
    """A clip, and what locates its object, by option: files or folders of strokes, a file of a mask, a box as text."""

    clip: Path
    given: dict[str, Any]


def is_clip(name: str) -> bool:
    """Whether a name is that of a video file."""
    return Path(name).suffix.lower() in SUFFIXES and not os.path.isdir(name)


def plan(chosen) -> Work:
    """The clips of a run; InputError for options that clips do not have."""
    given = {option: getattr(chosen, option) for option in OF_CLIPS if passed(chosen, option)}
    if not given:
        raise InputError(f"a clip requires {either(OF_CLIPS)}, got {passed(chosen, *OPTIONS)[0]}")
    if others := passed(chosen, *NOT_FOR_CLIPS):
        raise InputError(f"{others[0]} does not apply to a clip; omit it")
    chosen.kinds = _check_kinds(chosen.write)
    clips = [Path(name) for name in chosen.image]
    if not chosen.clip and (other := next((path for path in clips if not is_clip(str(path))), None)):
        raise InputError(f"image: {str(other)!r} is not a clip; run clips and images separately, or pass --clip")
    check_unique_names(clips, "image")
    files = {option: Path(given) for option, given in given.items() if option in FILES}
    for option, path in files.items():
        check_out_is_not_input([*clips, path], chosen.out, "image")
        if len(clips) > 1 and not os.path.isdir(path):
            raise InputError(
                f"--{option}: one file for {len(clips)} clips; pass a folder that contains one folder per clip, with "
                "the name of the clip"
            )

    def item(clip):
        name = stem_of(clip)
        own: dict[str, Any] = {option: path / name if len(clips) > 1 else path for option, path in files.items()}
        if len(clips) > 1 and "start" in files:
            own["start"] = companion_of(files["start"], name, "--start")
        job = partial(Job, clip, given | own)
        video = (_overlay(name, chosen),) if "overlay" in chosen.kinds else ()
        families = tuple(f"{name}-{kind}" for kind in chosen.kinds if kind != "overlay")
        return Item(name, str(clip), job, video, families=families)

    return Work([item(clip) for clip in clips], len(clips) > 1, segment_one, line, threads_per_item=None)


def _check_kinds(text: str | None) -> tuple[str, ...]:
    """The kinds of files in --write, in the order of KINDS; the default for None."""
    kinds = DEFAULT_KINDS if text is None else [part.strip() for part in text.split(",")]
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise InputError(f"--write: a clip has no {unknown[0]!r}; the kinds of a clip are {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in kinds)


def _overlay(name: str, chosen) -> Path:
    return Path(chosen.out) / f"{name}-overlay.mp4"


def segment_one(job: Job, chosen) -> dict:
    """Segment a clip and return its report.  All frames and strokes are read before the first file is written."""
    from apps.common.figures import overlay
    from apps.common.sequences import open_sequence, write_video
    from apps.segmentation.hints import remarks_on
    from apps.segmentation.matte import cut_out
    from apps.segmentation.video import segment_marked_video

    start = time.perf_counter()
    sequence = open_sequence(job.clip, "image")
    kind = next((kind for kind in ("strokes", "trimap") if kind in job.given), "strokes")
    files = stroke_files(job.given[kind], f"--{kind}", _stems(job.clip)) if kind in job.given else {}
    marks, count = _read_marks(sequence, files, kind, chosen)
    hints = _hints(job, marks, sequence.shape, kind)
    name, digits = stem_of(job.clip), max(MIN_DIGITS, len(str(count - 1)))
    folder = Path(chosen.out)
    planned = {
        kind: [folder / f"{name}-{kind}{number:0{digits}}.png" for number in range(count)]
        for kind in chosen.kinds
        if kind != "overlay"
    }
    videos = {"overlay": _overlay(name, chosen)} if "overlay" in chosen.kinds else {}
    read = time.perf_counter()
    rows: list = []
    named = partial(_named, kind, files)
    found = segment_marked_video(iter(sequence), hints, device=chosen.device, named=named)

    def figures():
        for frame in frame_bar(chosen, "segmenting", count)(found):
            rgb = as_floats(frame.frame)
            if "mask" in planned:
                write_image(planned["mask"][frame.number], frame.mask.astype("uint8") * 255)
            if "cutout" in planned:
                write_image(planned["cutout"][frame.number], cut_out(rgb, frame.mask))
            notes = remarks_on(frame.mask, hints[frame.number].strokes) if frame.number in hints else ()
            for note in notes:
                print_error(f"cutmatch segment: {job.clip}: frame {frame.number}: {note}")
            rows.append(_row(frame) | ({"warnings": list(notes)} if notes else {}))
            yield overlay(rgb, frame.mask) if videos else None

    if videos:
        write_video(videos["overlay"], figures(), sequence.rate, "--out")
    else:
        for _ in figures():
            pass
    done = time.perf_counter()
    numbered = {
        f"{kind}{number:0{digits}}": path for kind, paths in planned.items() for number, path in enumerate(paths)
    }
    return {
        "image": str(job.clip),
        "width": sequence.shape[1],
        "height": sequence.shape[0],
        "key_frames": sorted(hints),
        "frames": rows,
        "seconds": {"read": round(read - start, 4), "segment": round(done - read, 4), "total": round(done - start, 4)},
        "files": {kind: str(path) for kind, path in (videos | numbered).items()},
    }


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
    listed = ", ".join(_followers(rows, key) for key in report["key_frames"][1 : MAX_LISTED + 1])
    empty = sum(row["object_pixels"] == 0 for row in rows)
    follow = f" ({listed}{', ...' if keys > MAX_LISTED + 1 else ''})" if listed else ""
    lost = f", none in {empty} frames (add strokes there)" if empty else ""
    return (
        f"{report['image']}: {report['width']}x{report['height']}, {len(rows)} frames, {keys} key "
        f"frame{'s' * (keys > 1)}{follow}, object {share:.1f} %{lost}, {report['seconds']['total']:.2f} s, "
        f"{report['seconds']['segment'] / len(rows):.3f} s per frame -> {next(iter(report['files'].values()))}"
    )


def _followers(rows, key: int) -> str:
    """The frames that follow a key frame, or contain a correction of it, as text."""
    frames = [row["frame"] for row in rows if row["key_frame"] == key]
    return f"{frames[0]} to {frames[-1]} follow {key}"


def stroke_files(strokes: Path, option: str, stems: list[str]) -> dict[int, Path]:
    """The stroke images in a file or folder by the number of their frame.

    stems   names of the frames of a folder, without suffix, in order; empty for a video

    An image of a folder of strokes belongs to the frame of the same name, else to the frame whose number is the last in
    its name; a single image without a number to frame 0.  Raises InputError for an image without a frame, for two
    images of one frame, and for a folder without images.
    """
    if not os.path.isdir(strokes):
        return {_number(strokes, stems, option, 0): strokes}
    images = sorted(p for p in strokes.iterdir() if p.suffix.lower() in READABLE and not p.name.startswith("."))
    if not images:
        raise InputError(f"{option}: folder {str(strokes)!r} holds no image; name one like its frame, as 0030.png")
    files: dict[int, Path] = {}
    for path in images:
        other = files.setdefault(number := _number(path, stems, option), path)
        if other != path:
            raise InputError(f"{option}: {other.name!r} and {path.name!r} both mark frame {number}; keep one of them")
    return files


def _number(path: Path, stems, option: str, default: int | None = None) -> int:
    if path.stem in stems:
        return stems.index(path.stem)
    if numbers := re.findall(r"\d+", path.stem):
        return int(numbers[-1])
    if default is None:
        raise InputError(f"{option}: {path.name!r} names no frame; name it by the number of its frame, as 0030.png")
    return default


def _stems(clip: Path) -> list[str]:
    """The names of the frames of a folder, in the order in which they are read."""
    from apps.common.sequences import frames_in

    return [path.stem for path in frames_in(clip)] if os.path.isdir(clip) else []


def _read_marks(sequence, files: dict[int, Path], kind: str, chosen):
    """Marks by the number of their frame, and the number of frames; InputError for marks that do not fit."""
    from apps.segmentation.strokes import read_strokes, read_trimap

    marks, count = {}, 0
    for number, frame in enumerate(sequence):
        count += 1
        if number in files:
            path = files[number]
            if kind == "strokes":
                marks[number] = read_strokes(path, chosen.encoding, to_bytes(frame))
            else:
                marks[number] = read_trimap(path)
            check_same_size(marks[number], sequence.shape, _named(kind, files, number), "the frames are")
    if beyond := [number for number in sorted(files) if number >= count]:
        raise InputError(
            f"{_named(kind, files, beyond[0])} is beyond the end: the clip has {count} frames, 0 to {count - 1}; "
            "name stroke images by the number of their frame"
        )
    return marks, count


def _hints(job: Job, marks, shape, kind: str) -> dict:
    """The hints by the number of their frame: marks, and for frame 0 the box and the mask."""
    from apps.segmentation.hints import Hints, combine, read_mask
    from apps.segmentation.strokes import parse_box

    hints = {number: Hints(one) for number, one in marks.items()}
    box = parse_box(job.given["box"]) if "box" in job.given else None
    mask = read_mask(job.given["start"]) if "start" in job.given else None
    if box is not None or mask is not None:
        hints[0] = combine(shape, marks.get(0), box, f"--{kind}", mask=mask)
        for note in hints[0].notes:
            print_error(f"cutmatch segment: {job.clip}: {note}")
    return hints


def _named(kind: str, files, number: int) -> str:
    return f"--{kind}: {str(files[number])!r} (frame {number})" if number in files else f"frame {number}"
