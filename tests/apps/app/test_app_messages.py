"""Messages of the page's socket: encoded and decoded again, and rejected if broken."""

import html
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from apps.app import messages
from apps.app.messages import encode_mask, encode_stroke, parse_action, parse_stroke
from apps.common.errors import InputError
from tests.apps.app.read_masks import decode_mask


def test_a_stroke_survives():
    points = [(1.5, 2.25), (-3.0, 1e5)]
    stroke = parse_stroke(encode_stroke(7, 99, points, 2.5, 3, 1, 12))
    assert stroke.points.tolist() == [list(point) for point in points]
    assert stroke[:2] + stroke[3:] == (7, 99, 2.5, 3, 1, 12, True, False, "", False)
    erased = parse_stroke(encode_stroke(7, 99, points, 2.5, None, None, None))
    assert (erased.label, erased.axis, erased.index) == (None, None, None)


@pytest.mark.parametrize("seed", range(5))
def test_masks_survive_in_the_rectangle_that_changed(seed):
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 3, (17, 23)).astype(np.int16)
    after = before.copy()
    after[3:9, 5:20] = rng.integers(0, 300, (6, 15))
    shown = np.zeros(before.shape, np.uint16)
    full = encode_mask(4, -1, 0, before, None)
    part = encode_mask(4, -1, 0, after, before)
    assert decode_mask(full, shown) == (4, -1, 0)
    assert np.array_equal(shown, before)
    decode_mask(part, shown)
    assert np.array_equal(shown, after)
    assert len(part) < len(full)
    assert encode_mask(4, -1, 0, after, after.copy()) is None


GOOD = encode_stroke(0, 1, [(1, 1), (2, 2)], 1.0, 1, None, None)


def changed(offset, form, value):
    data = bytearray(GOOD)
    struct.pack_into(form, data, offset, value)
    return bytes(data)


BROKEN = [b"", b"\x01", b"\x02" + GOOD[1:], GOOD[:-1], GOOD + b"\0"]
CHANGED = [(1, "<B", 24), (1, "<B", 32), (24, "<I", 0), (24, "<I", 3)]


@pytest.mark.parametrize("data", BROKEN + [changed(*one) for one in CHANGED])
def test_broken_strokes_are_rejected(data):
    with pytest.raises(InputError):
        parse_stroke(data)


ACTIONS = ["", "{", "[]", '"undo"', "{}", '{"do": "remove"}', '{"do": ["undo"]}', '{"do": "undo"}', "[" * 100_000]
ACTIONS += [f'{{"do": "undo", "item": {item}}}' for item in ('"0"', "true", "1e400", '0, "more": 1')]
ACTIONS += ['{"do": "wider", "item": 0, "label": 1, "step": 1}']


@pytest.mark.parametrize("text", ACTIONS)
def test_broken_actions_are_rejected(text):
    with pytest.raises(InputError):
        parse_action(text)


def test_the_page_lists_every_key():
    """Those of keys.js, in the dialog that `?` opens; digits and signs of the same key by one of them."""
    static = Path(messages.__file__).parent / "static"
    code, page = ((static / name).read_text() for name in ("keys.js", "index.html"))
    listed = {html.unescape(key).lower() for key in re.findall("<kbd>(.*?)</kbd>", page)}
    bound = set()
    for block in re.findall(r"const (?:plain|control) = \{(.*?)\n  \};", code, re.DOTALL):
        bound |= {key.strip('"') for key in re.findall(r'(?:^|[,{\s])("[^"]+"|\w+): \(', block)}
    assert len(bound) > 30
    same = {"arrowup": "↑", "arrowdown": "↓", "pageup": "page", "pagedown": "page", "escape": "esc", "=": "+", "-": "−"}
    assert {same.get(key, key) for key in bound} <= listed
    assert {"h", "space", "1", "9", "ctrl"} <= listed
