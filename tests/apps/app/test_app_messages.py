"""Messages of the page's socket: encoded and decoded again, and rejected if broken."""

import html
import re
from pathlib import Path

import numpy as np
import pytest

from apps.app import messages
from apps.app.messages import encode_mask, parse_action
from apps.common.errors import InputError
from tests.apps.app.page_messages import decode_mask


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
