"""Each prompt of the published client, answered by a running server: the mask found, and what the server reports."""

import numpy as np
import pytest
from conftest import SHAPE, ball, dice
from nnInteractive.inference.remote import nnInteractiveRemoteInferenceSession
from nninteractive_cutmatch.paths import paths_through


def flat(axis, index, part):
    """A mask of the volume with a part of one slice."""
    mask = np.zeros(SHAPE, np.uint8)
    plane = [slice(None)] * 3
    plane[axis] = index
    mask[tuple(plane)] = part.take(index, axis)
    return mask


def test_a_point_finds_the_object(opened, scene):
    box = opened.add_point_interaction((20, 18, 16), True)
    assert dice(opened.target_buffer, scene[1]) > 0.97
    inside = tuple(slice(*ends) for ends in box)
    assert np.count_nonzero(opened.target_buffer[inside]) == np.count_nonzero(opened.target_buffer)


def test_points_correct(opened, scene):
    opened.add_point_interaction((20, 18, 16), True)
    opened.add_point_interaction((20, 34, 34), True)
    both = scene[1] | ball((20, 34, 34), 7)
    assert dice(opened.target_buffer, both) > 0.95
    opened.add_point_interaction((20, 34, 34), False)
    assert dice(opened.target_buffer, scene[1]) > 0.95
    assert opened.target_buffer[20, 34, 34] == 0


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_scribble(opened, scene, axis):
    index = (20, 18, 16)[axis]
    opened.add_scribble_interaction(flat(axis, index, ball((20, 18, 16), 3)), True)
    assert dice(opened.target_buffer, scene[1]) > 0.97


def test_a_scribble_in_its_box(opened, scene):
    scribble, box = np.ones((1, 6, 2), np.uint8), [[20, 21], [15, 21], [16, 18]]
    opened.add_scribble_interaction(scribble, True, interaction_bbox=box)
    assert dice(opened.target_buffer, scene[1]) > 0.97
    assert opened.target_buffer[20, 15:21, 16:18].all()


def test_a_scribble_of_several_slices(opened, scene):
    opened.add_scribble_interaction(ball((20, 18, 16), 3).astype(np.uint8), True)
    assert dice(opened.target_buffer, scene[1]) > 0.97


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_lasso(opened, scene, axis):
    index = (20, 18, 16)[axis]
    opened.add_lasso_interaction(flat(axis, index, ball((20, 18, 16), 12)), True)
    assert dice(opened.target_buffer, scene[1]) > 0.95


@pytest.mark.parametrize("box", [[[20, 21], [6, 30], [4, 28]], [[8, 32], [6, 30], [4, 28]]], ids=["flat", "3d"])
def test_a_box(opened, scene, box):
    opened.add_bbox_interaction(box, True)
    assert dice(opened.target_buffer, scene[1]) > 0.95


def test_background_by_lasso_and_flat_box(opened, scene):
    opened.add_point_interaction((20, 18, 16), True)
    opened.add_lasso_interaction(flat(0, 20, ball((20, 24, 16), 3)), False)
    assert not opened.target_buffer[20][ball((20, 24, 16), 3)[20]].any()
    opened.add_bbox_interaction([[20, 21], [8, 12], [14, 18]], False)
    assert not opened.target_buffer[20, 8:12, 14:18].any()


def test_an_initial_mask(opened, scene):
    rough = ball((21, 19, 17), 9).astype(np.uint8)
    opened.add_initial_seg_interaction(rough)
    np.testing.assert_array_equal(opened.target_buffer, rough)
    opened.add_initial_seg_interaction(rough, run_prediction=True)
    assert dice(opened.target_buffer, scene[1] | ball((20, 34, 34), 7)) > 0.95  # what looks alike is found, too
    opened.add_point_interaction((20, 34, 34), False)
    assert dice(opened.target_buffer, scene[1]) > 0.95


def test_undo_and_reset(opened, scene):
    opened.add_point_interaction((20, 18, 16), True)
    first = opened.target_buffer.copy()
    opened.add_scribble_interaction(flat(0, 20, ball((20, 34, 34), 3)), True)
    assert (opened.target_buffer != first).any()
    assert opened.undo()
    np.testing.assert_array_equal(opened.target_buffer, first)
    assert opened.undo()
    assert not opened.target_buffer.any()
    assert not opened.undo()
    opened.add_point_interaction((20, 18, 16), True)
    opened.reset_interactions()
    assert not opened.target_buffer.any()
    assert not opened.undo()
    opened.add_point_interaction((20, 18, 16), True)
    np.testing.assert_array_equal(opened.target_buffer, first)


def test_prompts_wait_for_a_prediction(opened, scene):
    assert opened.add_point_interaction((20, 18, 16), True, run_prediction=False) is None
    assert not opened.target_buffer.any()
    opened.set_do_autozoom(False)
    assert opened._predict() is not None
    assert dice(opened.target_buffer, scene[1]) > 0.97


def test_two_clients_do_not_meet(opened, address, scene):
    opened.add_point_interaction((20, 18, 16), True)
    first = opened.target_buffer.copy()
    with nnInteractiveRemoteInferenceSession(address) as other:
        other.set_image(scene[0][None])
        other.set_target_buffer(np.zeros(SHAPE, np.int32))
        other.add_point_interaction((20, 34, 34), True)
        assert dice(other.target_buffer, ball((20, 34, 34), 7)) > 0.95
    opened.add_point_interaction((20, 19, 16), True)
    np.testing.assert_array_equal(opened.target_buffer, first)


def test_thick_slices_along_any_axis(client, scene):
    """The axis with the largest voxels is the session's first, whichever it is in the client's array."""
    thick, truth = scene[0][:, :, ::4], scene[1][:, :, ::4]
    client.set_image(thick[None], {"spacing": [1.0, 1.0, 4.0]})
    client.set_target_buffer(np.zeros(thick.shape, np.uint8))
    client.add_point_interaction((20, 18, 4), True)
    assert dice(client.target_buffer, truth) > 0.95


def test_paths_touch_the_pixels_of_a_mask_and_no_others():
    rng = np.random.default_rng(0)
    for _ in range(200):
        mask = rng.random(rng.integers(1, 20, 2)) < rng.random()
        found, pairs = np.zeros_like(mask), []
        for path in paths_through(mask):
            assert ((path - 0.5) == np.rint(path - 0.5)).all()
            pixels = (path - 0.5).astype(int)
            pairs += zip(pixels[:-1], pixels[1:], strict=True)
            found[pixels[:, 1], pixels[:, 0]] = True
        for (x0, y0), (x1, y1) in pairs:
            assert max(abs(x1 - x0), abs(y1 - y0)) <= 1 or y0 == y1
            found[min(y0, y1) : max(y0, y1) + 1, min(x0, x1) : max(x0, x1) + 1] |= y0 == y1
        np.testing.assert_array_equal(found, mask)
