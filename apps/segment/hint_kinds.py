"""The kinds of hints, which say where an object is: one table for commands, sessions, the page and other programs.

A kind is one row of HINTS.  Options, checks and messages of commands, records and files of sessions, buttons of the
page and marks in requests follow from it.  A kind with a value per pixel also has a module that defines KIND, a
`MaskKind`.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from apps.common.errors import InputError

if TYPE_CHECKING:
    import numpy as np


class MaskPrior(NamedTuple):
    """What a mask says about an object (H, W).

    mask    the object, bool (H, W)
    costs   nats against the label object, float32 (H, W)
    seeds   object and background that count as marks for the geodesic distances, bool (H, W) each
    cores   object and background to which the first colour models are fitted, bool (H, W) each
    held    pixels whose costs alone decide, bool (H, W), or False
    """

    mask: "np.ndarray"
    costs: "np.ndarray"
    seeds: tuple["np.ndarray", "np.ndarray"]
    cores: tuple["np.ndarray", "np.ndarray"]
    held: "np.ndarray | bool" = False


class MaskKind(NamedTuple):
    """A kind of hint that has a value per pixel, bool or uint8; uint8 is on the object from 128.

    of_array     array and a name for messages -> values (H, W), perhaps of another size; the same for its own result
    resized      values, shape of the image and a name for messages -> values of that shape
    prior        values, marks of background and object (H, W), and an ImageView -> what they say
    of_volume    array, shape of a volume and a name for messages -> bool (D, H, W); None if there are no volumes
    box_of       values -> the box that they stand for, or None
    has_labels   whether a label map stands for several objects in a session
    """

    of_array: Callable[[Any, str], "np.ndarray"]
    resized: Callable[["np.ndarray", tuple[int, ...], str], "np.ndarray"]
    prior: Callable[["np.ndarray", "np.ndarray", Any], MaskPrior]
    of_volume: Callable[[Any, tuple[int, ...], str], "np.ndarray"] | None = None
    box_of: Callable[["np.ndarray"], tuple[int, int, int, int] | None] = lambda values: None
    has_labels: bool = False


class Hint(NamedTuple):
    """A kind of hint.

    takes          what it applies to: "image", "volume", "clip", "page" (the option and uploads of `cutmatch app`)
    help, metavar  of its option
    file           what its file holds, which each image has of its own; empty if there is none
    is_alone       whether it marks several objects, so that no other hint is possible
    without        an option that it cannot be combined with, and the remedy
    has_batches    whether it is possible for many images
    has_strokes    whether there are strokes, which can be shown
    module         of a kind with a value per pixel, which colours can override: where its `MaskKind` is, as KIND
    button         for the page: text and description of the button that sends a file
    """

    takes: tuple[str, ...]
    help: str
    file: str = ""
    metavar: str = "FILE"
    is_alone: bool = False
    without: tuple[str, str] | None = None
    has_batches: bool = True
    has_strokes: bool = False
    module: str = ""
    button: tuple[str, str] = ("", "")


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
        ("image", "volume", "clip", "page"),
        "rough or soft mask to refine, or a folder of them",
        file="mask",
        module="apps.segment.start_mask",
        button=("From a mask file\u2026", "Refine a rough mask, such as one of a network"),
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


def mask_kinds() -> list[str]:
    """The kinds with a value per pixel."""
    return [kind for kind, hint in HINTS.items() if hint.module]


def mask_kind(kind: str) -> MaskKind:
    """What converts the values of a kind; InputError for an unknown one."""
    if kind not in mask_kinds():
        raise InputError(f"unknown kind of hint {kind[:40]!r}; the kinds are {', '.join(mask_kinds())}")
    return import_module(HINTS[kind].module).KIND
