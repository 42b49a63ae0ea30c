"""The options that say where the object is, and the files they name, for images, volumes, clips and the page."""

import os
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apps.common.command import passed, spelled
from apps.common.errors import InputError
from apps.segment.hint_kinds import HINTS, mask_kinds

if TYPE_CHECKING:
    from apps.segment.session_files import Instructions


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
    if len(masks := passed(chosen, *mask_kinds())) > 1:
        raise InputError(f"pass {masks[0]} or {masks[1]}, got both; only one mask is possible")


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

    What the options give replaces what a session contains, except that strokes are added to its strokes.  A file may
    have lost the paint of a colour, so strokes alone must be of both kinds.
    """
    from apps.common.images import to_bytes
    from apps.segment.box_files import Detection
    from apps.segment.hints import ObjectOptions, combine, read_mask
    from apps.segment.session_files import Instructions, load_session
    from apps.segment.strokes import check_marks, codes_and_colours, read_scribbles, read_trimap

    strokes, name, earlier = None, "--scribbles", None
    if "scribbles" in hints:
        scribbles = codes_and_colours(hints["scribbles"], name) if scribbles is None else scribbles
        strokes = read_scribbles(hints["scribbles"], chosen.encoding, to_bytes(rgb), scribbles)
    elif "trimap" in hints:
        strokes, name = read_trimap(hints["trimap"]), "--trimap"
    mask = next((read_mask(kind, hints[kind]) for kind in mask_kinds() if kind in hints), None)
    options = ObjectOptions(chosen.keep, chosen.fill_holes, chosen.min_area, chosen.soft_strokes)
    if "resume_session" in hints:
        earlier, stored = load_session(hints["resume_session"], rgb)
        options = options.or_else(stored)
    box = hints.get("box")
    if isinstance(box, Detection):
        box = box.box(rgb.shape)
    found = combine(rgb.shape[:2], strokes, box, name, earlier, mask)
    if found.box is None and found.mask is None:
        check_marks(found.strokes, rgb.shape[:2], name)
    return Instructions(found, options)
