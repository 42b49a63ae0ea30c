"""The options that locate the object, and the files they name: strokes, trimap, box, start mask, session."""

from argparse import Namespace
from typing import TYPE_CHECKING

from apps.common.command import passed
from apps.common.errors import InputError

if TYPE_CHECKING:
    from apps.segment.session_files import Instructions

KINDS = ("scribbles", "box", "trimap", "start", "resume_session", "labels")


def check_location(chosen: Namespace) -> str:
    """Return the first of the options that locate the object; InputError if there is none or they do not combine."""
    given = passed(chosen, *KINDS)
    if not given:
        raise InputError("pass --scribbles, --box, --trimap, --start, --resume-session or --labels, got none")
    if chosen.labels is not None:
        if others := [option for option in (*given, *passed(chosen, "save_session")) if option != "--labels"]:
            raise InputError(
                f"--labels marks several objects, but {' and '.join(others)} applies to a single one; omit one of them"
            )
    if chosen.scribbles is not None and chosen.trimap is not None:
        raise InputError("pass --scribbles or --trimap, got both; paint the strokes into the trimap")
    return given[0].removeprefix("--")


def has_strokes(chosen: Namespace) -> bool:
    """Whether there are strokes to show."""
    return bool(passed(chosen, "scribbles", "trimap", "labels", "resume_session"))


def read_location(job, chosen: Namespace, rgb, scribbles=None) -> "Instructions":
    """Read the files of a job for an image, RGB (H, W, 3); InputError as the readers raise.

    rgb         float in [0, 1], or uint8
    scribbles   values of the stroke image as `strokes.codes_and_colours` returns them, if it has been read

    What the options give replaces what a session contains, except that strokes are added to its strokes.
    """
    from apps.common.images import to_bytes
    from apps.segment.hints import combine, read_mask
    from apps.segment.session_files import Instructions, ObjectOptions, load_session
    from apps.segment.strokes import codes_and_colours, read_scribbles, read_trimap

    strokes, name, earlier = None, "--scribbles", None
    if job.scribbles is not None:
        scribbles = codes_and_colours(job.scribbles, name) if scribbles is None else scribbles
        strokes = read_scribbles(job.scribbles, chosen.encoding, to_bytes(rgb), scribbles)
    elif job.trimap is not None:
        strokes, name = read_trimap(job.trimap), "--trimap"
    masks = {} if job.start is None else {"start": read_mask("start", job.start)}
    options = ObjectOptions(chosen.keep, chosen.fill_holes, chosen.min_area, chosen.soft_strokes)
    if job.session is not None:
        earlier, stored = load_session(job.session, rgb)
        options = options.or_else(stored)
    return Instructions(combine(rgb.shape[:2], strokes, job.box, name, earlier, **masks), options)
