"""The flow of a sequence: equal to that of each pair, in order, with the errors of its frames."""

import numpy as np
import pytest

from apps import flow, flow_sequence
from apps.common.command import limited_threads
from apps.common.images import InputError
from tests.apps.conftest import texture


@pytest.fixture(scope="module")
def frames():
    """Five frames of a texture that moves by (3, -2) per frame, uint8 (80, 100, 3)."""
    wide = texture((120, 140, 3))
    return [wide[20 + 2 * n :, 20 - 3 * n :][:80, :100] for n in range(5)]


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_equals_the_flow_of_each_pair(frames, fast, threads):
    with limited_threads(threads):
        found = list(flow_sequence(iter(frames), fast=fast))
    assert len(found) == 4
    for one, first, second in zip(found, frames, frames[1:], strict=False):
        alone = flow(first, second, fast=fast)
        np.testing.assert_array_equal(one.flow, alone.flow)
        np.testing.assert_array_equal(one.valid, alone.valid)
        np.testing.assert_array_equal(one.matches.second, alone.matches.second)
        assert np.abs(one.flow[10:-10, 10:-10] - (3, -2)).max() < 0.5


def test_frames_are_drawn_as_they_are_needed(frames):
    drawn = []

    def source():
        for number, frame in enumerate(frames):
            drawn.append(number)
            yield frame

    with limited_threads(2):
        flows = flow_sequence(source(), fast=True)
        assert drawn == []
        next(flows)
        assert drawn == [0, 1, 2, 3], "two pairs are computed while the first one is used"
        flows.close()


def test_errors_name_the_frame(frames):
    with pytest.raises(InputError, match="frames: frame 2 is 90x80 pixels, but frame 1 is 100x80"):
        list(flow_sequence([*frames[:2], frames[2][:, :90]], fast=True))
    with pytest.raises(InputError, match="frame 1 holds NaN"):
        list(flow_sequence([frames[0], np.full((80, 100), np.nan)]))
    with pytest.raises(InputError, match="fast links a grid of seeds"):
        list(flow_sequence(frames, fast=True, linker="windows"))
    with pytest.raises(InputError, match="texture"):
        list(flow_sequence([*frames[:2], np.zeros((80, 100, 3), np.uint8), *frames[3:]]))
