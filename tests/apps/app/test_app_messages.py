"""Messages of the page's socket: encoded and decoded again, and rejected if broken."""

import json
import struct

import numpy as np
import pytest

from apps.app import MAX_MESSAGE, MAX_POINTS
from apps.app.messages import ACTIONS, encode_mask, encode_stroke, parse_action, parse_stroke
from apps.common.errors import InputError
from tests.apps.app.read_masks import decode_mask


def test_a_stroke_survives():
    points = [(1.5, 2.25), (-3.0, 1e5)]
    stroke = parse_stroke(encode_stroke(7, 99, points, 2.5, 3, 1, 12))
    assert stroke.points.tolist() == [list(point) for point in points]
    assert stroke[:2] + stroke[3:] == (7, 99, 2.5, 3, 1, 12, True, False, False)
    assert parse_stroke(encode_stroke(7, 99, points, 2.5, 3, None, None, filled=True)).filled
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


def test_a_full_mask_of_one_label_is_one_run():
    assert len(encode_mask(0, -1, 0, np.zeros((1000, 1000), np.int16), None)) == 36 + 6


GOOD = encode_stroke(0, 1, [(1, 1), (2, 2)], 1.0, 1, None, None)


def changed(offset, form, value):
    data = bytearray(GOOD)
    struct.pack_into(form, data, offset, value)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        b"\x02" + GOOD[1:],
        GOOD[:-1],
        GOOD + b"\0",
        changed(1, "<B", 16),
        changed(2, "<H", 256),
        changed(12, "<i", 3),
        changed(12, "<i", -2),
        changed(16, "<i", -1),
        changed(20, "<f", 0.0),
        changed(20, "<f", float("nan")),
        changed(20, "<f", float("inf")),
        changed(20, "<f", -1.0),
        changed(24, "<I", 0),
        changed(24, "<I", 2**32 - 1),
        changed(24, "<I", MAX_POINTS + 1),
        changed(28, "<f", float("nan")),
        changed(28, "<f", float("-inf")),
        changed(28, "<f", 1e30),
        b"\x01" * (MAX_MESSAGE + 1),
    ],
)
def test_broken_strokes_are_rejected(data):
    with pytest.raises(InputError):
        parse_stroke(data)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        '"undo"',
        "{}",
        '{"do": "remove"}',
        '{"do": ["undo"]}',
        '{"do": "undo"}',
        '{"do": "undo", "item": "0"}',
        '{"do": "undo", "item": true}',
        '{"do": "undo", "item": -2}',
        '{"do": "undo", "item": 1e400}',
        '{"do": "undo", "item": 0, "more": 1}',
        '{"do": "box", "item": 0, "box": [1, 2, 3, 4]}',
        '{"do": "box", "item": 0, "box": {}, "label": 1}',
        '{"do": "save", "item": 0, "kinds": "mask"}',
        '{"do": "slice", "item": 0, "axis": 0.5, "index": 0}',
        "[" * 100_000,
        json.dumps({"do": "undo", "item": 0, "x": "y" * MAX_MESSAGE}),
    ],
)
def test_broken_actions_are_rejected(text):
    with pytest.raises(InputError):
        parse_action(text)


def test_every_action_has_a_legal_form():
    values = {int: 0, list: [], str: "a"}
    for name, arguments in ACTIONS.items():
        action = {"do": name, "item": 0} | {key: values[kind] for key, kind in arguments.items()}
        assert parse_action(json.dumps(action)) == action


VALUES = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        10**30,
        -(10**4000),
        1e308,
        float("inf"),
        float("nan"),
        "",
        "mask",
        "\ud800",
        "a\nb",
    ),
    *(
        {},
        [],
        [[]],
        [None],
        [{}],
        ["\ud800"],
        [10**4000],
        [True],
        [[[[[]]]]],
        {"a": [1]},
        [0] * 10_000,
        ["mask"] * 10_000,
    ),
]


def check_refusal(text):
    assert "\n" not in text
    assert len(text) < 400
    text.encode()  # no half of a surrogate pair


@pytest.mark.parametrize("name", ACTIONS)
def test_every_field_with_every_type_is_an_action_or_one_line(name):
    """Arguments have the types that are promised, so that no later code meets another one."""
    good = {"do": name, "item": 0} | {key: 0 if kind is int else [] for key, kind in ACTIONS[name].items()}
    for key in (*good, "more"):
        for value in VALUES:
            text = json.dumps(good | {key: value})
            try:
                action = parse_action(text)
            except InputError as error:
                check_refusal(str(error))
            else:
                expected = ACTIONS[name].get(key, int if key == "item" else str)
                assert type(action[key]) is expected
                if expected is list:
                    assert all(type(one) in ((str,) if key == "kinds" else (int, float)) for one in action[key])


@pytest.mark.parametrize("depth", [10, 500, 900, 950, 990, 1000, 5000, 100_000])
@pytest.mark.parametrize(
    "form", ["{}", '{{"do":{},"item":0}}', '{{"do":"box","item":0,"label":1,"box":{}}}', '{{"do":"undo","item":{}}}']
)
@pytest.mark.parametrize("brackets", ["[]", ('{"a":', "}")])
def test_deep_nesting_is_rejected(depth, form, brackets):
    first, last = brackets
    with pytest.raises(InputError):
        parse_action(form.format(first * depth + "0" + last * depth))
