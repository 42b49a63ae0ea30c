"""The options that say where the object is, and the files they name, for images, volumes, clips and the page."""

import os
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from apps.common.command import passed, spelled
from apps.common.errors import InputError

OPTIONS = {  # and their help
    "strokes": "stroke image, or a folder of them",
    "box": "box around the object in pixels, half open",
    "boxes": "boxes of several objects, as detectors and annotators write them",
    "trimap": "trimap, or a folder of them",
    "start": "rough or soft mask to refine, or a folder of them",
    "label_strokes": "strokes of several objects, with a value or colour for each, or a folder of them",
}
LOCATING = {  # those of each kind of input, and those that combine with an option of several objects
    "images": tuple(OPTIONS),
    "volumes": ("strokes", "start", "label_strokes"),
    "clips": ("strokes", "box", "trimap", "start"),
    "--boxes": ("boxes",),
    "--label-strokes": ("label_strokes",),
}
VOXELS = "spacing", "band"
APPLYING = {  # further options, of those that do not apply to all
    "images": ("keep", "volume", "fill_holes", "min_area", "truth", "write"),
    "volumes": ("keep", "volume", *VOXELS),
    "clips": ("write",),
    "--boxes": ("volume", "write", *VOXELS),
    "--label-strokes": ("volume", "write", "keep", *VOXELS),
}
# What the file of an option holds, of which each image has its own.
FILES = {"strokes": "stroke image", "trimap": "trimap", "start": "mask", "label_strokes": "stroke image or volume"}


def either(options: Iterable[str]) -> str:
    """A list of options for a message."""
    *first, last = map(spelled, options)
    return f"{', '.join(first)} or {last}"


def check_location(chosen: Namespace) -> None:
    """Raise InputError unless an option says where the object is, and those that do combine."""
    given = passed(chosen, *OPTIONS)
    if not given:
        raise InputError(f"pass {either(OPTIONS)}, got none")
    for option in given:
        if option in LOCATING:
            check_options(chosen, option)
    if "--strokes" in given and "--trimap" in given:
        raise InputError("pass --strokes or --trimap, got both; paint the strokes into the trimap")


def check_options(chosen: Namespace, kind: str) -> None:
    """Raise InputError unless an option says where the objects of a kind are, and all options apply to this kind."""
    if not passed(chosen, *LOCATING[kind]):
        raise InputError(f"{kind} require {either(LOCATING[kind])}, got {passed(chosen, *OPTIONS)[0]}")
    known = dict.fromkeys(option for table in (LOCATING, APPLYING) for options in table.values() for option in options)
    if others := passed(chosen, *(known.keys() - {*LOCATING[kind], *APPLYING[kind]})):
        raise InputError(f"{min(others)} does not apply to {kind}; omit it")


def check_files(chosen: Namespace, images: Sequence[Path], options: Iterable[str] = FILES) -> None:
    """Raise InputError for one file of an option for several images."""
    for option in options:
        given = getattr(chosen, option)
        if given and len(images) > 1 and os.path.exists(given) and not os.path.isdir(given):
            clip = "; if they are the frames of a clip, pass --clip" if option in LOCATING["clips"] else ""
            raise InputError(
                f"{spelled(option)}: one file for {len(images)} images; pass a folder with one {FILES[option]} per "
                f"image, with the name of the image{clip}"
            )
