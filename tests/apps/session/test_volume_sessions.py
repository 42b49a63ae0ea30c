"""Sessions with volumes: slices at once, the volume on release, anisotropic voxels, files."""

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

import gridcut
from apps.common.images import InputError
from apps.segmentation.multilabel import segment_volume
from apps.segmentation.volume_object import segment_object
from apps.session import Session
from apps.volumes.volume_files import read_volume
from tests.apps.conftest import iou
from tests.apps.session.scenes import costs_with, touching

SHAPE = (14, 20, 24)


def ball(seed=0):
    rng = np.random.default_rng(seed)
    z, y, x = np.mgrid[:14, :20, :24]
    truth = ((z - 7) * 1.6) ** 2 + (y - 10) ** 2 + (x - 12) ** 2 < 49
    return rng.normal(100, 12, SHAPE) + 45 * truth, truth


@pytest.fixture
def session():
    volume, _ = ball()
    with Session(volume, device="cpu") as one:
        one.stroke([(10, 10), (14, 10)], 1.5, slice=7)
        one.stroke([(2, 2), (22, 2)], 1.2, 0, slice=7)
        one.wait()
        yield one


def cold_volume(session, keep="all"):
    """Labels of a first solve with the session's models and marks."""
    answers = session._answered.answers
    costs = answers._view.costs(answers._models)
    unary = costs_with(costs, answers.held)
    cut = gridcut.max_flow(unary[0], unary[1], answers._view.edges(), device="cpu")
    cut.check()
    labels = np.array(costs.values, np.int16)[cut.labels.view(np.uint8)]
    return touching(touching(labels, answers.held), answers._canvas.all_marks()) if keep == "touching" else labels


def test_the_object_is_found(session):
    _, truth = ball()
    assert (session.mask == truth).mean() > 0.98
    assert session.state["exact"]
    assert session.result().certified
    np.testing.assert_array_equal(session.labels, cold_volume(session, "touching"))


def test_strokes_of_an_array_with_a_start(session):
    _, truth = ball()
    marks = np.full(SHAPE, -1)
    marks[:, 0] = 0
    before = session.labels
    session.set_strokes(marks, start=np.roll(truth, 2, axis=1))
    assert session.result().certified
    assert (session.mask == truth).mean() > 0.97
    session.undo()
    session.wait()
    np.testing.assert_array_equal(session.labels, before)


def test_no_correction_takes_an_object_for_a_like_one_beside_it():
    """Strokes where a volume is most wrong, one after the other: none loses what earlier ones found."""
    rng, n = np.random.default_rng(8), 48
    at = np.indices((n, n, n)) / n
    places, sizes = rng.uniform(0.3, 0.7, (3, 3)), rng.uniform(0.1, 0.25, (3, 3))
    first, second, beside = (
        sum(((at[i] - place[i]) / size[i]) ** 2 for i in range(3)) < 1
        for place, size in zip(places, sizes, strict=True)
    )
    truth = first | second
    volume = 80 + 50 * truth + 45 * (beside & ~truth) + rng.normal(0, 15, truth.shape)
    found = [0.0]
    with Session(volume, device="cpu") as session:
        session.stroke([(2, 2), (n - 2, 2)], 1, 0, slice=2)
        for _ in range(8):
            mask = session.mask
            depth = [distance_transform_edt(wrong) for wrong in (mask & ~truth, truth & ~mask)]
            label = int(depth[1].max() >= depth[0].max())
            z, y, x = np.unravel_index(depth[label].argmax(), truth.shape)
            session.stroke([(x + 0.5, y + 0.5)], 1.5, label, slice=int(z))
            session.wait()
            found.append(iou(session.mask, truth))
        assert session.result().certified
    assert np.diff(found).min() > -0.02
    assert found[-1] > 0.9


@pytest.mark.parametrize("keep", ["touching", "all"])
def test_the_same_as_the_functions_for_volumes(session, keep):
    """The labels of two seeds, and the object and the energy of two marks."""
    volume, _ = ball()
    marks = session._answered.answers._canvas.all_marks()
    expected = segment_object(volume, marks, device="cpu", keep=keep)
    with Session(volume, device="cpu", keep=keep) as other:
        for stroke in session._answered.history.records:
            other.stroke(stroke.points, stroke.radius, stroke.label, stroke.axis, stroke.slice)
        other.wait()
        np.testing.assert_array_equal(other.mask, expected.mask)
        assert other.state["energy"] == expected.energies[-1]
    if keep == "all":
        np.testing.assert_array_equal(
            segment_volume(volume, marks + 1, device="cpu", keep="all").labels == 2, other.mask
        )


@pytest.mark.parametrize("spacing", [None, (2.0, 0.5, 1.0)])
def test_random_strokes_on_slices_of_any_axis(spacing):
    """The slice minimises the energy of the volume if the other slices keep their labels; then the volume is cut."""
    volume, _ = ball(1)
    rng = np.random.default_rng(2)
    with Session(volume, spacing, keep="all", device="cpu") as session:
        session.stroke([(10, 10), (14, 10)], 1.5, slice=7)
        session.stroke([(2, 2), (22, 2)], 1.2, 0, slice=7)
        session.wait()
        for k in range(12):
            axis = int(rng.integers(3))
            index = int(rng.integers(SHAPE[axis]))
            rows, columns = np.delete(SHAPE, axis)
            before = session.labels
            costs = session._answered.answers._view.costs(session._answered.answers._models)
            points = rng.uniform((0, 0), (columns, rows), (2, 2))
            session.stroke(points, 1.0, int(k % 2), axis, index, final=False)
            place = (slice(None),) * axis + (index,)
            unary = costs_with(costs, session._answered.answers._canvas.all_marks())
            held = np.ones(SHAPE, bool)
            held[place] = False
            source = np.where(held, (before == 1) * np.int64(1 << 24), unary[0])
            sink = np.where(held, (before != 1) * np.int64(1 << 24), unary[1])
            cold = gridcut.max_flow(source, sink, session._answered.answers._view.edges(), device="cpu")
            np.testing.assert_array_equal(session.labels, cold.labels)
            if k % 3 == 2:
                session.undo() if k % 2 else session.stroke([(1, 1)], 1, 0, slice=0)
                session.wait()
                np.testing.assert_array_equal(session.labels, cold_volume(session))
                assert session.result().certified


def test_a_correction_changes_nothing_far_from_it():
    """A stroke on noise of a bright slice teaches the background the grey of the object."""
    rng = np.random.default_rng(3)
    z, y, x = np.mgrid[:36, :20, :24]
    volume = rng.normal(100, 12, z.shape) + 30 * ((y - 10) ** 2 + (x - 12) ** 2 < 49)
    with Session(volume, device="cpu") as session:
        session.stroke([(10, 10), (14, 10)], 1.5, slice=12)
        session.stroke([(2, 2), (22, 2)], 1.2, 0, slice=12)
        session.stroke([(12, 4)], 1, 0, slice=33)  # confirms the labels, which are kept from now on
        session.wait()
        before = session.labels
        session.stroke([(12, 10), (15, 10)], 2, 0, slice=2)
        session.wait()
        far = slice(21, None)
        np.testing.assert_array_equal(session.labels[far], before[far])
        assert not session.mask[2, 10, 12:15].any()
        assert (segment_object(volume, session._answered.answers._canvas.all_marks(), device="cpu").mask != before)[
            far
        ].any()
        assert session.result().certified


def test_stored_and_exported(session, tmp_path):
    volume, _ = ball()
    session.save(tmp_path / "a.json", "ball.npy")
    with Session.load(tmp_path / "a.json", volume, device="cpu") as loaded:
        loaded.wait()
        np.testing.assert_array_equal(loaded.labels, session.labels)
    for other, message in (
        (volume[1:], "of size 24x20x14; pass that image"),
        (volume + 1, "another image, 'ball.npy'"),
    ):
        with pytest.raises(InputError, match=message):
            Session.load(tmp_path / "a.json", other, device="cpu")
    with pytest.raises(InputError, match="a.json"):
        Session.load(tmp_path / "a.json", np.zeros((20, 24), np.uint8), device="cpu")
    for suffix in (".npy", ".tif"):
        session.export(tmp_path / f"labels{suffix}", "labels")
        np.testing.assert_array_equal(read_volume(tmp_path / f"labels{suffix}").values, session.labels)
    with pytest.raises(InputError, match="no suffix of a volume"):
        session.export(tmp_path / "labels.png", "labels")
    with pytest.raises(InputError, match="kind must be one of mask, labels"):
        session.export(tmp_path / "labels.npy", "coco")


def test_a_box_finds_the_object_and_strokes_correct_it():
    volume, truth = ball()
    with Session(volume, (1.6, 1, 1), device="cpu") as session:
        session.box((3, 1, 1, 21, 19, 13))
        assert not session.state["exact"]
        session.wait()
        assert iou(session.mask, truth) > 0.9
        assert session.state["exact"]
        assert session.result().certified
        np.testing.assert_array_equal(session.labels, cold_volume(session))
        found = session.labels
        session.stroke([(12, 10)], 2, 0, slice=7)
        assert not session.mask[7, 9:11, 11:13].any()
        session.wait()
        assert not session.mask[7, 9:11, 11:13].any()
        assert iou(session.mask, truth) > 0.5
        np.testing.assert_array_equal(session.labels, cold_volume(session))
        session.undo()
        session.wait()
        np.testing.assert_array_equal(session.labels, found)
        session.undo()
        assert not session.mask.any()


@pytest.mark.parametrize("kind", ["bool", "integers", "probabilities"])
def test_a_start_mask_is_a_hint(kind):
    volume, truth = ball()
    rough = np.roll(truth, 2, axis=2)
    given = {"bool": rough, "integers": 7 * rough, "probabilities": 0.9 * rough}[kind]
    with Session(volume, (1.6, 1, 1), device="cpu") as session:
        with session._answered.lock:  # until the worker has cut the volume
            session.start_from(given)
            np.testing.assert_array_equal(session.mask, rough)
        session.wait()
        assert iou(session.mask, truth) > 0.95 > iou(rough, truth)
        session.stroke([(12, 10)], 2, 0, slice=7)
        assert not session.mask[7, 9:11, 11:13].any()
        session.wait()
        assert not session.mask[7, 9:11, 11:13].any()
        assert session.result().certified
