"""Requests of other programs: strokes, boxes and masks on an image, all at once, answered by its labels.

A request contains these prompts as JSON, and the image itself if it is none of the app's:

    {"image": FILE,
     "prompts": [{"stroke": [[x, y], ...], "radius": 5, "label": 1},    label 0 is the background
               {"paint": FILE, "label": 1},                           the bright pixels of an image
               {"box": [x0, y0, x1, y1], "label": 1},                 half open, around this object
               {"start": FILE}]}                                      a mask to refine

where FILE is the content of an image file in base64.  Pixel (i, j) covers [i, i + 1) x [j, j + 1).

The answer depends on this request only.  The sessions of the last images are kept, and prompts that follow those of the
request before are added to them, so a further click costs a warm start.
"""

import base64
import json
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import numpy as np

from apps.app import MAX_OPEN_IMAGES, MAX_POINTS
from apps.app.image_sources import Image
from apps.common.errors import InputError
from apps.segmentation.hints import mask_in
from apps.segmentation.result_files import encoded_result
from apps.session import Session
from apps.session.record_checks import check_label
from apps.session.session_export import KINDS

RADIUS = 5.0  # pixels, of a click
MAX_PROMPTS = 1000  # of a request
# Kinds of prompts, and what they may state besides.
KEYS = {"stroke": {"radius", "label"}, "paint": {"label"}, "box": {"label"}, "start": set()}

Prompt = dict  # as in the request, with the content of a file in place of its base64


class _Kept:
    """An image whose session is kept, and the prompts of the last request."""

    def __init__(self, image: Image, device):
        if image.volume is not None:
            raise InputError("this is a volume; use the page, or apps.Session")
        self.image, self.session = image, Session(image.pixels, device=device)
        self.prompts: Sequence[Prompt] = ()


class PromptSessions:
    """Answers requests; may be called from any thread, one after the other."""

    def __init__(self, device: str):
        self._device = device
        self._kept: dict[Hashable, _Kept] = {}  # the image used last is the last

    def find_labels(
        self, key: Hashable, load: Callable[[], Image], prompts: Sequence[Prompt]
    ) -> tuple[Image, np.ndarray]:
        """An image and its certified labels, int16 (H, W); InputError for prompts that cannot be used.

        `key` identifies the image, which `load` reads.
        """
        kept = self._kept.pop(key, None) or _Kept(load(), self._device)
        self._kept[key] = kept
        while len(self._kept) > MAX_OPEN_IMAGES:
            self._kept.pop(next(iter(self._kept))).session.close()
        if not 0 < len(prompts) <= MAX_PROMPTS:
            raise InputError(f"there are {len(prompts)} prompts; 1 to {MAX_PROMPTS} are accepted")
        before, kept.prompts = kept.prompts, ()
        added = prompts[len(before) :]
        same = before and prompts[: len(before)] == before and all("stroke" in one for one in added)
        if not same:
            kept.session.restore(())
        _add(kept.session, added if same else prompts)
        labels = kept.session.result().labels
        kept.prompts = prompts
        return kept.image, labels

    def close(self) -> None:
        """End the sessions."""
        for kept in self._kept.values():
            kept.session.close()


def _add(session: Session, prompts: Sequence[Prompt]) -> None:
    """Add prompts; painted ones first, as they replace all others."""
    painted = np.full(session.shape, -1, np.int16)
    for prompt in prompts:
        if "paint" in prompt:
            mask = mask_in(prompt["paint"], "prompts", "paint")
            if mask.shape != session.shape:
                raise InputError(f"paint has shape {mask.shape}, but the image has {session.shape}")
            painted[mask] = _label_of(prompt)
    if (painted >= 0).any():
        session.set_strokes(painted)
    for number, prompt in enumerate(prompts):
        try:
            label = _label_of(prompt)
            if "box" in prompt:
                session.box(_whole(prompt["box"]), label)
            elif "stroke" in prompt:
                session.stroke(prompt["stroke"], prompt.get("radius", RADIUS), label)
            elif "start" in prompt:
                session.start_from(mask_in(prompt["start"], "prompts", "start"))
        except (InputError, TypeError) as error:
            raise InputError(f"prompts[{number}]: {error}") from None


def _label_of(prompt: Prompt) -> int:
    return check_label(prompt.get("label", 1), 0)


def _whole(box) -> tuple[int, ...]:
    """The whole pixels of a box of four finite numbers; InputError for anything else."""
    is_box = isinstance(box, list) and len(box) == 4 and {*map(type, box)} <= {int, float}
    if not is_box or not all(abs(one) <= 1e6 for one in box):  # not NaN
        raise InputError("box must be [x0, y0, x1, y1] of finite numbers up to 1e6")
    return tuple(int(value) for value in (*np.floor(box[:2]), *np.ceil(box[2:])))


def read_json(data: bytes) -> dict:
    """The object of a JSON text; InputError for anything else."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("the request is not JSON") from None
    if not isinstance(content, dict):
        raise InputError(f"the request must be a JSON object, got {type(content).__name__}")
    return content


def parse_prompts(content: dict) -> list[Prompt]:
    """The prompts of a request; InputError for anything else."""
    prompts = content.get("prompts")
    if set(content) != {"prompts"} or not isinstance(prompts, list):
        raise InputError('the request must be {"prompts": [...]}')
    points, parsed = 0, []
    for number, prompt in enumerate(prompts):
        kinds = [kind for kind in KEYS if isinstance(prompt, dict) and kind in prompt]
        if len(kinds) != 1 or not set(prompt) <= {kinds[0], *KEYS[kinds[0]]}:
            known = f"a prompt is an object with one of {', '.join(KEYS)}"
            raise InputError(f"prompts[{number}]: {known}, and maybe its label or radius")
        (kind,) = kinds
        points += len(prompt[kind]) if kind == "stroke" and isinstance(prompt[kind], list) else 0
        parsed.append(prompt | ({kind: decode_file(prompt[kind], kind)} if kind in ("paint", "start") else {}))
    if points > MAX_POINTS:
        raise InputError(f"the strokes have more than {MAX_POINTS} points")
    return parsed


def decode_file(text, name: str) -> bytes:
    """The content of a file from base64; InputError for anything else."""
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise InputError(f"{name} must be the content of an image file in base64") from None


def encode_answer(kind: str, image: Image, labels: np.ndarray, path: Path) -> tuple[bytes, str]:
    """Labels of an image in the form of a kind, and its media type; `path` is the image's file."""
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind[:40]!r}")
    images = dict.fromkeys(("mask", "cutout", "labels"), (".png", "image/png"))
    suffix, media = (images | {"yolo": (".txt", "text/plain")}).get(kind, (".json", "application/json"))
    rgb = image.rgb if kind == "cutout" else image.pixels  # the other kinds contain no colours
    return encoded_result(kind, path.with_suffix(suffix), rgb, labels, path, image.metadata), media
