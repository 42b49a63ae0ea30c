"""What a user of a session relies on: messages, undo, erasing, boxes, start masks, several objects, threads."""

import threading
import time

import numpy as np
import pytest

from apps.common.images import InputError
from apps.session import Session, image_answers
from apps.session.latest_work import LatestWork
from tests.apps.session.scenes import disc_scene


def iou(one, other):
    return np.count_nonzero(one & other) / np.count_nonzero(one | other)


def test_one_kind_of_stroke_is_no_error(disc):
    image, truth = disc
    with Session(image, device="cpu") as session:
        assert session.state["message"] == "mark the object"
        assert not session.mask.any()
        session.stroke([(28, 20)], 3)
        assert session.state["message"] == "mark the background"
        assert session.wait()
        assert iou(session.mask, truth) > 0.9, "the sides of the image are probably background"
        assert session.result().certified
        session.clear()
        session.stroke([(3, 3)], 3, 0)
        assert session.state["message"] == "mark an object"
        assert not session.mask.any()
        assert session.wait()
        result = session.result()
        assert (result.certified, result.energy, result.values) == (False, None, (0,))


def test_two_strokes_find_the_object(session, disc):
    _, truth = disc
    assert iou(session.mask, truth) > 0.95
    state = session.state
    assert (state["exact"], state["pending"], state["message"]) == (True, False, "")
    assert state["labels"] == [0, 1]
    assert not state["certified"]
    assert session.result().certified
    assert session.state["certified"]


def test_strokes_are_constraints(session):
    session.stroke([(28, 20)], 4, 0)
    assert not session.mask[18:22, 26:30].any()
    session.stroke([(5, 35)], 3)
    assert session.mask[34:37, 4:7].all()


def test_undo_of_everything(session):
    assert session.undo()
    assert session.state["message"] == "mark the background"
    assert session.undo()
    assert not session.undo()
    assert session.state["undo"] is False
    assert not session.mask.any()
    assert session.redo()
    assert session.redo()
    assert not session.redo()
    assert len(session.strokes) == 2


def test_a_new_stroke_ends_redo(session):
    session.undo()
    session.stroke([(3, 38), (50, 38)], 1, 0)
    assert not session.redo()


def test_parts_of_a_stroke_are_undone_together(session):
    before = session.strokes
    session.stroke([(3, 36), (10, 36)], 1, 0, final=False)
    session.stroke([(10, 36), (20, 36)], 1, 0, final=False)
    session.stroke([(20, 36), (30, 36)], 1, 0)
    assert len(session.strokes) == len(before) + 3
    assert session.undo()
    assert session.strokes == before
    assert session.redo()
    assert len(session.strokes) == len(before) + 3


def test_parts_start_nothing_in_the_background(session):
    version = session.state["version"]
    session.stroke([(3, 36), (10, 36)], 1, 0, final=False)
    assert not session.state["pending"]
    assert session.state["version"] == version + 1


def test_clear_can_be_undone(session):
    before = session.labels
    session.clear()
    session.wait()
    assert not session.mask.any()
    assert session.strokes == []
    session.undo()
    session.wait()
    np.testing.assert_array_equal(session.labels, before)


def test_erased_strokes_have_no_influence(session, disc):
    session.wait()
    before = session.labels
    session.stroke([(28, 20)], 3, 0)
    session.erase([(28, 20)], 3.5)
    session.stroke([(24, 20), (32, 20)], 2)  # what the eraser removed from it
    session.wait()
    np.testing.assert_array_equal(session.labels, before)


def test_a_box_finds_the_object_and_strokes_correct_it():
    image, truth = disc_scene(noise=6)
    with Session(image, device="cpu") as session:
        session.box((10, 2, 46, 38))
        assert session.wait()
        assert iou(session.mask, truth) > 0.9
        assert session.state["exact"]
        assert not session.mask[:2].any()
        session.stroke([(28, 20)], 4, 0)
        session.wait()
        assert not session.mask[18:22, 26:30].any()
        assert iou(session.mask, truth) > 0.5
        assert session.undo()
        session.wait()
        assert iou(session.mask, truth) > 0.9


def test_a_box_of_noise_has_an_object_too():
    """An empty object does not win; strokes improve what is found."""
    image, truth = disc_scene(noise=60)
    with Session(image, device="cpu") as session:
        session.box((10, 2, 46, 38))
        session.wait()
        assert session.mask.any()
        assert session.state["exact"]
        session.stroke([(28, 20)], 9)
        session.wait()
        assert iou(session.mask, truth) > 0.3


def test_a_box_is_clipped(disc):
    image, _ = disc
    with Session(image, device="cpu") as session:
        session.box((-5, 2, 46, 99))
        assert session.strokes == [{"kind": "box", "box": [0, 2, 46, 40]}]


def test_a_start_mask_is_a_hint(disc):
    image, truth = disc
    with Session(image, device="cpu") as session:
        session.start_from(np.roll(truth, 2, axis=1))
        assert session.wait()
        assert iou(session.mask, truth) > iou(np.roll(truth, 2, axis=1), truth)
        session.stroke([(28, 20)], 3, 0)
        assert not session.mask[19:21, 27:29].any()


def test_a_rectangle_as_start_mask_is_a_box(disc):
    image, _ = disc
    mask = np.zeros(image.shape[:2], bool)
    mask[2:38, 10:46] = True
    with Session(image, device="cpu") as session:
        session.start_from(mask)
        assert session.strokes == [{"kind": "box", "box": [10, 2, 46, 38]}]


def test_several_objects():
    image = np.full((30, 60, 3), 60, np.uint8)
    image[8:22, 8:22], image[8:22, 38:52] = (200, 60, 60), (60, 60, 200)
    with Session(image, device="cpu") as session:
        session.stroke([(15, 15)], 3, 1)
        session.stroke([(45, 15)], 3, 2)
        assert session.state["labels"] == [1, 2]
        session.stroke([(3, 3), (57, 3)], 2, 0)
        session.wait()
        expected = np.zeros((30, 60), np.int16)
        expected[8:22, 8:22], expected[8:22, 38:52] = 1, 2
        np.testing.assert_array_equal(session.labels, expected)
        assert session.result().values == (0, 1, 2)
        session.stroke([(45, 15)], 3, 1, final=False)
        assert (session.labels[13:17, 43:47] == 1).all()
        session.undo()
        session.wait()
        np.testing.assert_array_equal(session.labels, expected)


@pytest.mark.parametrize("keep", ["touching", "all"])
def test_parts_without_a_stroke(keep):
    image = np.full((30, 60), 60, np.uint8)
    image[8:22, 8:22] = image[8:22, 38:52] = 200
    with Session(image, keep=keep, device="cpu") as session:
        session.stroke([(15, 15)], 3)
        session.stroke([(3, 3), (57, 3)], 2, 0)
        session.wait()
        assert session.mask[8:22, 8:22].all()
        assert session.mask[8:22, 38:52].all() == (keep == "all")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, bool])
def test_images_of_every_kind(dtype):
    image = np.zeros((20, 30))
    image[5:15, 10:20] = 1
    scale = {np.uint8: 255, np.uint16: 65535}.get(dtype, 1)
    with Session((image * scale).astype(dtype), device="cpu") as session:
        session.stroke([(12, 10), (18, 10)], 1)
        session.stroke([(2, 2), (28, 2)], 1, 0)
        session.wait()
        np.testing.assert_array_equal(session.mask, image > 0)


def test_a_large_image_is_answered_on_a_reduced_grid(tiny_grids, disc):
    image, truth = disc
    seen = []
    with Session(image, device="cpu", callback=lambda: seen.append(session.state["exact"])) as session:
        session.stroke([(24, 20), (32, 20)], 2)
        session.stroke([(3, 3), (52, 3)], 2, 0)
        assert session.labels.shape == truth.shape
        assert session.preview.size < truth.size / 2
        session.wait()
        assert seen[-1] is True
        full = session.labels
        assert iou(session.mask, truth) > 0.95
        session.stroke([(28, 20)], 4, 0, final=False)
        assert not session.state["exact"]
        shown = session.labels
        assert not (shown[18:22, 26:30] > 0).any()
        far = np.ones(truth.shape, bool)
        far[8:32, 16:40] = False
        np.testing.assert_array_equal(shown[far], full[far])  # the full cut is kept where nothing changed
        assert session.result().certified
        assert session.state["exact"]


def test_strokes_in_quick_succession(tiny_grids, disc):
    """The latest stroke wins: at the end everything belongs to it, whatever was under way before."""
    image, _ = disc
    rng = np.random.default_rng(1)
    with Session(image, device="cpu") as session, Session(image, device="cpu") as patient:
        for k in range(30):
            stroke = rng.uniform(0, (56, 40), (2, 2)), 1.5, int(k % 2)
            session.stroke(*stroke)
            patient.stroke(*stroke)
            patient.wait()
        session.wait()
        np.testing.assert_array_equal(session.labels, patient.labels)
        session.result()


def test_errors_of_the_worker_are_raised(session, monkeypatch):
    monkeypatch.setattr(image_answers, "fit_models", raise_memory_error)
    session.stroke([(3, 36), (10, 36)], 1, 0)
    with pytest.raises(MemoryError, match="too much"):
        session.wait()
    monkeypatch.undo()
    session.stroke([(3, 38), (10, 38)], 1, 0)
    assert session.result().certified


def test_an_error_while_answering_changes_nothing(session, monkeypatch):
    """The next stroke is answered with all marks, whatever the failed one had already changed."""
    before, records = session.labels, session.strokes
    with monkeypatch.context() as patch:
        patch.setattr(image_answers.GridCut, "mark", raise_memory_error)
        with pytest.raises(MemoryError):
            session.stroke([(28, 20)], 4, 0)
    assert session.strokes == records
    session.stroke([(-9, -9)], 1, 0)
    session.wait()
    np.testing.assert_array_equal(session.labels, before)
    assert session.result().certified


def test_an_error_of_the_full_cut_changes_nothing(tiny_grids, disc, monkeypatch):
    image, _ = disc
    with Session(image, device="cpu") as session, Session(image, device="cpu") as other:
        for one in (session, other):
            one.stroke([(24, 20), (32, 20)], 2)
            one.stroke([(3, 3), (52, 3)], 2, 0)
            one.wait()
        with monkeypatch.context() as patch:
            patch.setattr(image_answers.GridCut, "mark", raise_memory_error)
            patch.setattr(
                image_answers.ImageAnswers, "change_to", lambda self, records: self._canvas.change_to(records)
            )
            session.stroke([(28, 20)], 4, 0)
            with pytest.raises(MemoryError):
                session.wait()
        session.undo()
        for one in (session, other):
            one.stroke([(28, 20)], 3, 0)
            one.wait()
        np.testing.assert_array_equal(session.labels, other.labels)


def raise_memory_error(*_, **__):
    raise MemoryError("too much")


def test_a_callback_cannot_wait(disc):
    image, _ = disc
    errors = []

    def callback():
        try:
            session.wait()
        except RuntimeError as error:
            errors.append(str(error))

    with Session(image, device="cpu", callback=callback) as session:
        session.stroke([(24, 20), (32, 20)], 2)
        session.wait()
    assert errors
    assert "another thread" in errors[0]


def test_the_latest_request_counts():
    started, release, runs = threading.Event(), threading.Event(), []

    def work(check):
        runs.append("begun")
        started.set()
        release.wait(10)
        check()
        runs.append("ended")

    worker = LatestWork(work)
    worker.request()
    assert started.wait(10)
    worker.request()
    worker.request()
    assert worker.is_pending
    assert not worker.wait(0.01)
    release.set()
    assert worker.wait(10)
    assert runs.count("ended") == 1
    assert runs[-1] == "ended"
    assert not worker.is_pending


def test_stopped_work_is_abandoned():
    started = threading.Event()

    def work(check):
        started.set()
        while True:
            check()
            time.sleep(0.001)

    worker = LatestWork(work)
    worker.request()
    assert started.wait(10)
    worker.stop()
    assert not worker.is_pending
    assert worker.wait(0)


def test_many_strokes_need_little_memory(tiny_grids, disc):
    """Undo keeps records, not images."""
    import tracemalloc

    image, _ = disc
    large = np.kron(image, np.ones((5, 5, 1), np.uint8))  # 56,000 pixels
    rng = np.random.default_rng(0)
    with Session(large, device="cpu") as session:

        def draw(count):
            for k in range(count):
                session.stroke(rng.uniform(0, (280, 200), (5, 2)), 3, k % 2, final=k % 10 == 9)
            session.wait()

        draw(50)
        tracemalloc.start()
        try:
            draw(50)
            first, _ = tracemalloc.get_traced_memory()
            draw(200)
            last, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert last - first < 200 * 3000  # a copy of the marks alone would be 112,000 bytes per stroke


def test_a_stroke_is_much_cheaper_than_a_cold_cut():
    """Median of the strokes, against the first answer, which computes the same from nothing."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:512, :512]
    image = np.uint8(np.clip(rng.normal(100, 25, (512, 512)) + 40 * (np.hypot(y - 256, x - 256) < 150), 0, 255))
    with Session(image, device="cpu") as session:
        for _ in range(2):  # the second time, everything is compiled
            session.clear()
            session.stroke([(220, 256), (290, 256)], 8)
            session.stroke([(10, 10), (500, 10)], 8, 0)
            session.wait()
        session._answers._models = None  # as after the first stroke of the second kind
        session.stroke([(10, 500), (500, 500)], 8, 0, final=False)
        cold = session.state["seconds"]
        warm = []
        for k in range(20):
            session.stroke([(20 + 20 * k, 40), (30 + 20 * k, 60)], 5, 0, final=False)
            warm.append(session.state["seconds"])
    assert np.median(warm) < cold / 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 2), "points must have shape"),
        (([[1, 2, 3]], 2), "points must have shape"),
        (("abc", 2), "points must be numbers"),
        (([[np.nan, 0]], 2), "points hold NaN"),
        (([[1e9, 0]], 2), "points hold"),
        (([[1, 1]], 0), "radius must be above 0"),
        (([[1, 1]], np.inf), "radius must be above 0"),
        (([[1, 1]], 1, -1), "label must be 0"),
        (([[1, 1]], 1, 255), "label must be 0"),
        (([[1, 1]], 1, 1, 0, 3), "axis and slice"),
    ],
)
def test_bad_strokes_change_nothing(session, arguments, message):
    before, records = session.state["version"], session.strokes
    with pytest.raises(InputError, match=message):
        session.stroke(*arguments)
    assert (session.state["version"], session.strokes) == (before, records)


@pytest.mark.parametrize("arguments", [([[1, 1]], "2"), ([[1, 1]], 2, 1.5), ([[1, 1]], 2, True)])
def test_strokes_of_other_types(session, arguments):
    with pytest.raises(TypeError, match="must be"):
        session.stroke(*arguments)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ((0, 0, 56, 40), "covers the whole image"),
        ((60, 0, 70, 10), "contains no pixel"),
        ((5, 5, 5, 9), "contains no pixel"),
        ((1, 2, 3), "four integers"),
        ("1,2,3,4", "four integers"),
    ],
)
def test_bad_boxes(session, box, message):
    records = session.strokes
    with pytest.raises(InputError, match=message):
        session.box(box)
    assert session.strokes == records


@pytest.mark.parametrize("mask", [np.zeros((40, 56)), np.ones((40, 56)), np.eye(40)])
def test_bad_start_masks(session, mask):
    with pytest.raises(InputError, match="mask"):
        session.start_from(mask)


@pytest.mark.parametrize(
    ("image", "options", "message"),
    [
        ([[1, 2], [3]], {}, "image must be an array"),
        (np.zeros((4, 5, 2, 2)), {}, "image must be one grey"),
        (np.full((4, 5), 3.0), {}, "scale them"),
        (np.zeros((4, 5), np.uint8), {"keep": "largest"}, "keep must be one of"),
        (np.zeros((4, 5), np.uint8), {"device": "tpu"}, "device must be one of"),
        (np.zeros((4, 5), np.uint8), {"callback": 3}, "callback must be callable"),
        (np.zeros((4, 5), np.uint8), {"spacing": (1, 1, 1)}, "volume must hold"),
        (np.zeros((4, 5, 6), np.uint8), {"spacing": (1, 1)}, "spacing needs three"),
        (np.zeros((4, 5, 6), complex), {}, "volume must hold"),
        (np.full((4, 5, 6), np.nan), {}, "NaN"),
    ],
)
def test_bad_images(image, options, message):
    with pytest.raises(InputError, match=message):
        Session(image, **{"device": "cpu", **options})


def test_a_point_is_a_stroke_and_marks_its_pixel(session):
    session.stroke((40.9, 30.1), 0.01, 0, final=False)
    assert session._answers.marks()[30, 40] == 0


def test_strokes_outside_the_image(session):
    before = session.labels
    session.stroke([(-50, -50), (-40, -60)], 5, 0)
    session.wait()
    np.testing.assert_array_equal(session.labels, before)


def test_one_click_finds_an_object():
    """On a flat image with another object, which a mark of the background is not needed to exclude."""
    image = np.full((80, 120, 3), 90, np.uint8)
    image[20:60, 15:50] = image[20:60, 70:105] = (200, 120, 60)
    truth = np.zeros((80, 120), bool)
    truth[20:60, 15:50] = True
    with Session(image, device="cpu") as session:
        session.stroke([(32, 40)], 2, 3)
        assert session.wait()
        np.testing.assert_array_equal(session.labels == 3, truth)
        assert session.result().certified
        before = session.labels
        session.erase([(32, 40)], 4)
        session.undo()
        session.wait()
        np.testing.assert_array_equal(session.labels, before)
