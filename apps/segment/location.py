"""The options that say where the object is, and the files they name: one table for images, volumes, clips and the page.

A kind of hint is one row of HINTS.  Commands take their options, checks and messages from it.
"""

import os
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from apps.common.command import passed, spelled
from apps.common.errors import InputError

if TYPE_CHECKING:
    from apps.segment.session_files import Instructions


class Hint(NamedTuple):
    """A kind of hint.

    takes          what it applies to: "image", "volume", "clip", "page" (the option and uploads of `cutmatch app`)
    help, metavar  of its option
    file           what its file holds, which each image has of its own; empty if there is none
    is_alone       whether it marks several objects, so that no other hint is possible
    without        an option that it cannot be combined with, and the remedy
    has_batches    whether it is possible for many images
    has_strokes    whether there are strokes, which can be shown
    """

    takes: tuple[str, ...]
    help: str
    file: str = ""
    metavar: str = "FILE"
    is_alone: bool = False
    without: tuple[str, str] | None = None
    has_batches: bool = True
    has_strokes: bool = False


HINTS = {
    "scribbles": Hint(
        ("image", "volume", "clip"), "stroke image, or a folder of them", file="stroke image", has_strokes=True
    ),
    "box": Hint(
        ("image", "clip"),
        "box around the object in pixels, half open, or a file of one box per image",
        metavar="X0,Y0,X1,Y1",
    ),
    "boxes": Hint(("image",), "boxes of several objects, as detectors and annotators write them", is_alone=True),
    "trimap": Hint(
        ("image", "clip"),
        "trimap, or a folder of them",
        file="trimap",
        without=("scribbles", "paint the strokes into the trimap"),
        has_strokes=True,
    ),
    "start": Hint(
        ("image", "volume", "clip", "page"), "rough or soft mask to refine, or a folder of them", file="mask"
    ),
    "labels": Hint(
        ("image", "volume"),
        "strokes of several objects, seeds of a volume, or a folder of them",
        file="stroke image or seed volume",
        is_alone=True,
        has_strokes=True,
    ),
    "resume_session": Hint(
        ("image",),
        "add to the strokes of an earlier run, stored by --save-session",
        has_batches=False,
        has_strokes=True,
    ),
}


def kinds_for(what: str) -> list[str]:
    """The kinds that apply to an image, a volume, a clip or the page."""
    return [kind for kind, hint in HINTS.items() if what in hint.takes]


def not_for(what: str) -> list[str]:
    """The kinds that do not."""
    return [kind for kind, hint in HINTS.items() if what not in hint.takes]


def either(options: Iterable[str]) -> str:
    """A list of options for a message."""
    *first, last = map(spelled, options)
    return f"{', '.join(first)} or {last}"


def check_location(chosen: Namespace) -> None:
    """Raise InputError unless an option says where the object is, and those that do combine."""
    given = passed(chosen, *HINTS)
    if not given:
        raise InputError(f"pass {either(HINTS)}, got none")
    for kind, hint in HINTS.items():
        option = spelled(kind)
        if option not in given:
            continue
        others = [other for other in (*given, *passed(chosen, "save_session")) if other != option]
        if hint.is_alone and others:
            also = [spelled(other) for other in HINTS if HINTS[other].is_alone and spelled(other) in others]
            clash = f"and so does {also[0]}" if also else f"but {' and '.join(others)} applies to a single one"
            raise InputError(f"{option} marks several objects, {clash}; omit one of them")
        if hint.without is not None and (other := spelled(hint.without[0])) in given:
            raise InputError(f"pass {other} or {option}, got both; {hint.without[1]}")


def check_files(chosen: Namespace, images: Sequence[Path], kinds: Iterable[str] = HINTS) -> None:
    """Raise InputError for one file of a hint for several images."""
    for kind in kinds:
        given, hint = getattr(chosen, kind), HINTS[kind]
        if hint.file and given and len(images) > 1 and os.path.exists(given) and not os.path.isdir(given):
            clip = "; if they are the frames of a clip, pass --clip" if "clip" in hint.takes else ""
            raise InputError(
                f"{spelled(kind)}: one file for {len(images)} images; pass a folder with one {hint.file} per image, "
                f"with the name of the image{clip}"
            )


def has_strokes(chosen: Namespace) -> bool:
    """Whether there are strokes to show."""
    return bool(passed(chosen, *(kind for kind, hint in HINTS.items() if hint.has_strokes)))


def read_location(hints: dict, chosen: Namespace, rgb, scribbles=None) -> "Instructions":
    """Read the hints of a job for an image, RGB (H, W, 3); InputError as the readers raise.

    hints       files by kind; a box as four integers
    rgb         float in [0, 1], or uint8
    scribbles   values of the stroke image as `strokes.codes_and_colours` returns them, if it has been read

    What the options give replaces what a session contains, except that strokes are added to its strokes.
    """
    from apps.common.images import to_bytes
    from apps.segment.box_files import Detection
    from apps.segment.hints import MASKS, combine, read_mask
    from apps.segment.session_files import Instructions, ObjectOptions, load_session
    from apps.segment.strokes import codes_and_colours, read_scribbles, read_trimap

    strokes, name, earlier = None, "--scribbles", None
    if "scribbles" in hints:
        scribbles = codes_and_colours(hints["scribbles"], name) if scribbles is None else scribbles
        strokes = read_scribbles(hints["scribbles"], chosen.encoding, to_bytes(rgb), scribbles)
    elif "trimap" in hints:
        strokes, name = read_trimap(hints["trimap"]), "--trimap"
    masks = {kind: read_mask(kind, file) for kind, file in hints.items() if kind in MASKS}
    options = ObjectOptions(chosen.keep, chosen.fill_holes, chosen.min_area, chosen.soft_strokes)
    if "resume_session" in hints:
        earlier, stored = load_session(hints["resume_session"], rgb)
        options = options.or_else(stored)
    box = hints.get("box")
    if isinstance(box, Detection):
        box = box.box(rgb.shape)
    return Instructions(combine(rgb.shape[:2], strokes, box, name, earlier, **masks), options)
