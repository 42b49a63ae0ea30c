"""Edits by hand: pixels that nothing changes, outlines that are cut again, objects that grow and shrink."""

import contextlib

import numpy as np
import pytest

from apps.common.images import InputError
from apps.session import Session
from apps.session.session_records import Patch, Stroke
from tests.apps.session.scenes import disc_scene, near_polyline
from tests.apps.session.test_exact_answers import random_step
from tests.tiers import in_quick_tier


def drawn(shape, points, radius):
    """The pixels of a stroke, bool."""
    x, y = (axis + 0.5 for axis in np.meshgrid(*map(np.arange, shape[::-1])))
    return near_polyline(x, y, np.array(points, float), max(radius, 0.5))


def test_solid_pixels_move_nothing_else(session):
    before, records = session.labels, session.records
    session.solid([(40, 30), (50, 34)], 2.5, 3)
    session.solid([(28, 20)], 3, 1, taken=True)
    expected = before.copy()
    expected[drawn(before.shape, [(40, 30), (50, 34)], 2.5)] = 3
    expected[drawn(before.shape, [(28, 20)], 3)] = 0
    np.testing.assert_array_equal(session.labels, expected)
    assert not session.state["pending"]
    assert session.result().values == (0, 1, 3)
    np.testing.assert_array_equal(session.result().labels, expected)
    assert {*session.objects} == {1, 3}
    assert session.undo()
    assert session.undo()
    assert session.records == records
    np.testing.assert_array_equal(session.labels, before)
    assert session.redo()
    session.erase([(28, 20)], 30)
    session.wait()
    assert 3 not in session.labels


def random_edit(session, rng, objects):
    """One use of a tool that sets pixels, except solid ones; or a preview of it."""
    height, width = session.shape
    points = rng.uniform((0, 0), (width, height), (2, 2))
    label, taken, final = int(rng.integers(1, objects + 1)), bool(rng.random() < 0.4), bool(rng.random() < 0.7)
    tool = rng.choice(["push", "select", "wider", "drop_preview", "margins"])
    if tool == "push":
        session.push(points, float(rng.uniform(0.5, 6)), label, final=final, taken=taken)
    elif tool == "select":
        session.select(points, 1.5, label, tolerance=float(rng.uniform(1, 40)), final=final, taken=taken)
    elif tool == "wider":
        session.wider(int(rng.integers(-20, 21)), label, final=final)
    elif tool == "margins":
        with contextlib.suppress(InputError):  # there is no cut
            session.margins(label)
    else:
        session.drop_preview()


@pytest.mark.parametrize("seed", in_quick_tier(range(1000), lambda seed: seed < 12))
def test_nothing_changes_solid_pixels(seed, tmp_path):
    """Whatever is drawn, cut again, selected, made wider, undone, redone and stored later."""
    rng = np.random.default_rng(seed)
    image, _ = disc_scene(*rng.integers(20, 40, 2), seed)
    height, width = image.shape[:2]
    with Session(image, device="cpu") as session:
        for _ in range(3):
            random_step(session, rng, 2)
        expected = np.full((height, width), -1)
        for _ in range(2):
            points, radius = rng.uniform((0, 0), (width, height), (2, 2)), float(rng.uniform(0.5, 4))
            label, taken = int(rng.integers(1, 3)), bool(rng.random() < 0.4)
            session.solid(points, radius, label, taken=taken)
            expected[drawn(expected.shape, points, radius)] = 0 if taken else label
        count = len(session._answered.history.records)
        for _ in range(8):
            (random_step if rng.random() < 0.5 else random_edit)(session, rng, 2)
            while len(session._answered.history.records) < count and session.redo():
                pass
            firm = [one for one in session.records if isinstance(one, Patch) and one.is_firm]
            if len(firm) < 2 or any(isinstance(one, Stroke) and one.label is None for one in session.records):
                break  # all was removed, or erased
            if rng.random() < 0.3:
                session.wait()
            if rng.random() < 0.2:
                session.save(tmp_path / "a.sqlite")
                with Session.load(tmp_path / "a.sqlite", image, device="cpu") as loaded:
                    np.testing.assert_array_equal(loaded.labels[expected >= 0], expected[expected >= 0])
            np.testing.assert_array_equal(session.labels[expected >= 0], expected[expected >= 0])


def test_solid_pixels_and_locks(session):
    session.lock(1)
    locked = session.labels == 1
    session.solid([(28, 20), (50, 20)], 3, 2)
    np.testing.assert_array_equal(session.labels == 1, locked)
    assert (session.labels == 2).any()
    with pytest.raises(InputError, match="object 1 is locked"):
        session.solid([(28, 20)], 3)
    with Session(np.zeros((3, 8, 9)), device="cpu") as volume, pytest.raises(InputError, match="pixels of volumes"):
        volume.solid([(4, 4)], 2)


def energies(terms, edges, free, start):
    """Energy of every labelling that differs from one only in free pixels, and these labellings, bool (n, H, W)."""
    places = np.flatnonzero(free)
    labels = np.repeat(start.reshape(1, -1), 2 ** len(places), axis=0)
    labels[:, places] = np.arange(2 ** len(places))[:, None] >> np.arange(len(places)) & 1
    labels = labels.reshape(-1, *start.shape)
    total = np.where(labels, terms[1], terms[0]).sum(axis=(1, 2), dtype=np.int64)
    for (down, right), weight in edges.items():
        for y, x in np.ndindex(start.shape):
            if 0 <= y + down < start.shape[0] and 0 <= x + right < start.shape[1]:
                total += int(weight[y, x]) * (labels[:, y, x] != labels[:, y + down, x + right])
    return total, labels


@pytest.mark.parametrize("seed", range(6))
def test_wider_objects_are_nested_minima(seed):
    """Each has the minimum energy of all labellings."""
    rng = np.random.default_rng(seed)
    image = np.uint8(rng.integers(60, 190, (3, 4, 3)))
    with Session(image, keep="all", device="cpu") as session:
        session.stroke([(1.5, 1.5)], 0.5)
        session.stroke([(3.5, 0.5)], 0.5, 0)
        session.wait()
        before, count = session.labels, len(session.records)
        background, foreground = session._answered.answers.terms_of(1, (slice(None), slice(None)))
        last = np.zeros(before.shape, bool)
        for step in range(-60, 61, 6):
            session.wider(step, final=False)
            total, masks = energies(
                (background, foreground - 64 * step),
                session._answered.answers.grid.edges(),
                np.ones(before.shape),
                before > 0,
            )
            found = session.mask
            best = masks[total == total.min()]
            np.testing.assert_array_equal(found, best.any(axis=0))
            assert (found | last).sum() == found.sum()
            last = found
        assert len(session.records) == count
        session.wider(0)
        np.testing.assert_array_equal(session.labels, before)
        session.wider(30)
        assert len(session.records) == count + 2
        session.undo()
        np.testing.assert_array_equal(session.labels, before)


@pytest.mark.parametrize("seed", range(6))
def test_previews_of_blocks_are_nested_minima(seed, monkeypatch):
    """Of the labellings that are constant in blocks of pixels, each is minimal, and the largest minimal one."""
    side = 2 + seed // 3
    monkeypatch.setattr("apps.session.hand_edits.PREVIEW_PIXELS", 9)
    rng = np.random.default_rng(seed)
    image = np.uint8(rng.integers(60, 190, (3 * side - 1, 3 * side - seed % 2, 3)))
    shape, places = image.shape[:2], np.arange(9).reshape(3, 3)
    blocks = places.repeat(side, 0).repeat(side, 1)[: shape[0], : shape[1]]
    with Session(image, keep="all", device="cpu") as session:
        session.stroke([(1.5, 1.5)], 0.5)
        session.stroke([(4.5, 0.5)], 0.5, 0)
        session.wait()
        background, foreground = session._answered.answers.terms_of(1, (slice(None), slice(None)))
        masks = (np.arange(512)[:, None] >> blocks.ravel() & 1).reshape(-1, *shape) > 0
        last = np.zeros(shape, bool)
        edges = session._answered.answers.grid.edges()
        session.wider(0, final=False)
        edits = session._edits[1]
        assert edits._side == side
        if not seed:  # all or nothing, at the same cost: the largest one is taken
            background, foreground = edits._terms = np.zeros((2, *shape), np.int32)
            del edits._terms_of_blocks
        for step in range(-60, 61, 10):
            total = np.where(masks, foreground - 64 * step, background).sum(axis=(1, 2), dtype=np.int64)
            for offset, weight in edges.items():
                for y, x in np.ndindex(shape):
                    if 0 <= y + offset[0] < shape[0] and 0 <= x + offset[1] < shape[1]:
                        total += int(weight[y, x]) * (masks[:, y, x] != masks[:, y + offset[0], x + offset[1]])
            found = edits._of_grid(edits._cut(edits._grown(64 * step, False), False), False)
            best = masks[total == total.min()]
            np.testing.assert_array_equal(found, best.any(axis=0))
            assert (found | last).sum() == found.sum()
            last = found


@pytest.mark.parametrize("seed", range(6))
def test_a_pushed_edge_is_the_minimum_in_its_disc(seed):
    rng = np.random.default_rng(seed)
    image, truth = disc_scene(14, 16, seed)
    with Session(image, device="cpu") as session:
        session.stroke([(8, 7)], 1.5)
        session.stroke([(1, 1), (15, 1)], 0.8, 0)
        session.wait()
        place, taken = rng.uniform((4, 4), (12, 10)), bool(seed % 2)
        before = session.labels == 1
        session.push([place], 1.7, taken=taken)
        disc, core = drawn(before.shape, [place], 1.7), drawn(before.shape, [place], 0.6 * 1.7)
        np.testing.assert_array_equal(session.mask[~disc], before[~disc])
        assert (session.mask[core] != taken).all()
        terms = [one.copy() for one in session._answered.answers.terms_of(1, (slice(None), slice(None)))]
        terms = [np.minimum(one - np.minimum(*terms), 16 * 256) for one in terms]
        terms[1 - taken][core], terms[int(taken)][core] = 0, 1 << 20
        edges = edges_around(image, disc, session)
        total, masks = energies(terms, edges, disc, before)
        found = next(k for k, mask in enumerate(masks) if np.array_equal(mask, session.mask))
        assert total[found] == total.min()
        records = session.records
        session.stroke([place], 4, int(taken))
        assert (session.mask[disc] == taken).all()  # a stroke takes the pixels back
        session.undo()
        assert session.records == records


def edges_around(image, disc, session):
    """Edge weights of the part around a disc that a push cuts, 0 elsewhere."""
    import gridcut
    from apps.segmentation.colour_models import lab_image
    from apps.segmentation.fine_outline import mean_contrast
    from apps.segmentation.terms import CONTRAST, SMOOTHNESS, UNIT

    rows, columns = np.nonzero(disc)
    part = slice(max(0, rows.min() - 1), rows.max() + 2), slice(max(0, columns.min() - 1), columns.max() + 2)
    beta = CONTRAST / mean_contrast(session.pixels)
    lab = lab_image(session.pixels[part])
    found = {}
    weights = gridcut.contrast_edges(lab, weight=SMOOTHNESS * UNIT, connectivity=8, beta=beta, dtype=np.int32)
    for offset, weight in weights.items():
        found[offset] = np.zeros(disc.shape, np.int64)
        found[offset][part] = weight
        inside = np.zeros(disc.shape, bool)
        inside[part] = True
        there = np.roll(inside, (-offset[0], -offset[1]), (0, 1))
        found[offset][~(inside & there)] = 0
    return found


def test_selected_parts(session, disc):
    """They contain the stroke, are connected, and take nothing from other objects."""
    _, truth = disc
    before, count = session.labels, len(session.records)
    session.select([(4, 36), (8, 36)], 1, 2, tolerance=40, final=False)
    assert (session.labels == 2).any()
    assert len(session.records) == count
    session.drop_preview()
    np.testing.assert_array_equal(session.labels, before)
    session.select([(4, 36), (8, 36)], 1, 2, tolerance=40)
    trail = drawn(before.shape, [(4, 36), (8, 36)], 1)
    assert (session.labels[trail] == 2).all()
    np.testing.assert_array_equal(session.labels == 1, before == 1)
    assert (session.labels == 2).sum() > trail.sum()
    session.select([(4, 36)], 1, 2, tolerance=40, taken=True)
    assert not (session.labels == 2)[trail].any()
    with pytest.raises(InputError, match=r"tolerance must be 0\.5 to 100"):
        session.select([(4, 36)], 1, 2, tolerance=0)
    with pytest.raises(InputError, match="step must be -100 to 100"):
        session.wider(101)


@pytest.mark.usefixtures("tiny_grids")
def test_edits_of_a_reduced_image(disc):
    image, _ = disc
    with Session(image, device="cpu") as session:
        session.stroke([(24, 20), (32, 20)], 2)
        session.stroke([(3, 3), (52, 3)], 2, 0)
        session.wait()
        assert session._answered.answers.is_reduced
        before = session.labels
        session.push([(28, 36)], 5)
        assert session.labels[36, 28] == 1
        assert (session.labels != before)[:30].sum() == 0
        session.select([(5, 35)], 1.5, 2, tolerance=30)
        assert session.labels[35, 5] == 2
        areas = []
        for step in (-20, 0, 20):
            session.wider(step, final=False)
            areas.append((session.labels == 1).sum())
        assert areas == sorted(areas)
        session.wider(20)
        assert session.labels[35, 5] == 2
