"""Margins of minimum cuts: bounds and exact values against two cuts for each pixel, and what they propose."""

import copy
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gridcut
from apps import Session, cli, segment
from apps.common.images import InputError, to_rgb
from apps.segmentation.fit import find_labels
from apps.segmentation.hints import combine
from apps.segmentation.margins import STEPS, Unsure
from apps.segmentation.model import ImageView
from apps.segmentation.segment_command import MIN_UNSURE
from apps.segmentation.terms import FORBIDDEN, UNIT
from tests.apps.session.scenes import disc_scene

NEIGHBOURS = {2: [(0, 1), (1, 0), (1, 1), (1, -1)], 3: [(0, 0, 1), (0, 1, 0), (1, 0, 0)]}


def by_two_cuts(source, sink, edges):
    """The margin of each pixel: the difference of the minima with either label."""
    found = np.zeros(source.shape)
    for index in np.ndindex(source.shape):
        values = []
        for side in (0, 1):
            terms = source.copy(), sink.copy()
            terms[side][index] += 1 << 24
            values.append(int(gridcut.max_flow(*terms, edges, device="cpu").value))
        found[index] = abs(values[0] - values[1]) / UNIT
    return found


@pytest.mark.parametrize("seed", range(12))
def test_bounds_and_margins_by_two_cuts(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(3, 9, 2)) if seed % 2 else tuple(rng.integers(2, 5, 3))
    source, sink = rng.integers(0, 900, (2, *shape)).astype(np.int32)
    edges = {offset: rng.integers(0, 500, shape).astype(np.uint16) for offset in NEIGHBOURS[len(shape)]}
    expected = by_two_cuts(source, sink, edges)
    unsure = Unsure(source, sink, edges)
    found = unsure.margins(unsure.labels)
    assert (found.least <= expected).all()
    assert (expected <= found.most * (1 + 1e-6)).all()
    assert found.place is None or found.margin == expected[found.place]
    exact = unsure.margins(unsure.labels, at=np.ones(shape, bool))
    np.testing.assert_array_equal(exact.least, np.float32(expected))
    np.testing.assert_array_equal(exact.most, np.float32(expected))


def faint_scene():
    """A bright disc and a fainter part beside it, between the colours of the disc and of the background."""
    image, (y, x) = np.full((60, 90), 80.0), np.ogrid[:60, :90]
    image[30:44, 40:70] = 132
    image[(y - 30) ** 2 + (x - 25) ** 2 < 18**2] = 150
    return np.uint8((image + np.random.default_rng(0).normal(0, 20, image.shape)).clip(0, 255))


def test_margins_of_a_segmentation_point_at_the_faint_part():
    image = faint_scene()
    strokes = np.zeros(image.shape, np.uint8)
    strokes[22:38, 15:35], strokes[3:9, 5:85] = 1, 2
    found = segment(image, strokes=strokes, device="cpu")
    margins = found.margins()
    y, x = margins.place
    assert 30 <= y < 44
    assert 40 <= x < 70
    at = np.zeros(found.mask.shape, bool)
    at[y, x] = at[0, 0] = True
    exact = found.margins(at)
    assert exact.least[y, x] == exact.most[y, x] == np.float32(margins.margin)
    assert exact.least[0, 0] >= STEPS[-1]
    with pytest.raises(InputError, match="at must be bool"):
        found.margins(at[1:])
    with pytest.raises(InputError, match="copies do not have"):
        copy.deepcopy(found).margins()


def test_margins_of_a_box_stay_in_the_part_around_it():
    image, truth = disc_scene(50, 60, 1)
    rows, columns = (np.flatnonzero(truth.any(axis=axis)) for axis in (1, 0))
    box = (columns[0] - 2, rows[0] - 2, columns[-1] + 3, rows[-1] + 3)
    margins = segment(image, box=tuple(map(int, box)), device="cpu").margins()
    assert margins.least.shape == image.shape[:2]
    outside = np.ones(truth.shape, bool)
    outside[box[1] : box[3], box[0] : box[2]] = False
    assert np.isinf(margins.most[outside]).all()


def test_where_to_look_in_a_session():
    with Session(faint_scene(), device="cpu") as session:
        with pytest.raises(InputError, match="object 1 has no cut yet"):
            session.margins()
        session.stroke([(18, 30), (32, 30)], 8)
        session.stroke([(8, 6), (82, 6)], 3, 0)
        first = session.margins()
        assert session.margins() is first
        y, x = first.place
        terms = session._answered.answers.terms_of(1, (slice(None), slice(None)))
        values = []
        for side in (0, 1):
            forced = [one.copy() for one in terms]
            forced[side][y, x] = FORBIDDEN
            values.append(int(gridcut.max_flow(*forced, session._answered.answers.grid.edges(), device="cpu").value))
        assert first.margin == abs(values[0] - values[1]) / UNIT
        before = session.labels
        session.stroke([(x + 0.5, y + 0.5)], 3, int(before[y, x] == 0))
        assert session.labels[y, x] != before[y, x]
        assert session.margins() is not first
        session.lock(1)
        with pytest.raises(InputError, match="object 1 is locked"):
            session.margins()


@pytest.mark.parametrize("place", [{}, {"slice": 6}])
def test_strokes_are_answered_while_margins_are_computed(place, monkeypatch):
    """The margins are those of the labels before."""
    compute = Unsure.margins
    image = np.repeat(faint_scene()[None], 12, axis=0) if place else faint_scene()
    with Session(image, (1, 1, 1) if place else None, device="cpu") as session:
        session.stroke([(18, 30), (32, 30)], 3, **place)
        session.stroke([(8, 6), (82, 6)], 3, 0, **place)
        session.wait()
        expected = session.margins()

        def meanwhile(*arguments):
            drawing = threading.Thread(target=session.stroke, args=([(80, 50)], 3, 0), kwargs=place)
            drawing.start()
            drawing.join(60)
            assert not drawing.is_alive()
            return compute(*arguments)

        monkeypatch.setattr(Unsure, "margins", meanwhile)
        session._looked = None
        found = session.margins()
        np.testing.assert_array_equal(found.least, expected.least)
        assert found.place == expected.place
        assert len(session.records) == 3
        monkeypatch.undo()
        assert session.margins() is not found


def test_a_folder_says_what_to_look_at_first(tmp_path, capsys):
    """Each object is compared by the pixels that half a nat each would change, in the two cuts that say so."""
    strokes = np.zeros((60, 90), np.uint8)
    strokes[22:38, 15:35], strokes[3:9, 5:85] = 1, 2
    for folder in ("images", "strokes"):
        (tmp_path / folder).mkdir()
    scenes = {"faint": faint_scene(), "clear": np.where(faint_scene() > 125, np.uint8(220), np.uint8(30))}
    for name, image in scenes.items():
        Image.fromarray(image).save(tmp_path / "images" / f"{name}.png")
        Image.fromarray(strokes).save(tmp_path / "strokes" / f"{name}.png")
    arguments = "segment images --strokes strokes --out out --json out.json --device cpu"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert cli.main(arguments.split()) == 0
    report = json.loads((tmp_path / "out.json").read_text())
    found = {Path(one["image"]).stem: one["unsure_percent"] for one in report["images"]}
    assert found["clear"] == 0 < found["faint"]
    hints = combine((60, 90), np.int8([-1, 1, 0])[strokes], None, "strokes")
    view = ImageView(lambda: to_rgb(scenes["faint"]), (60, 90))
    (source, sink), edges = find_labels(view, hints, "cpu").problem()
    labels, *others = (
        gridcut.max_flow(source + more, sink + less, edges, device="cpu").labels
        for more, less in ((0, 0), (UNIT // 2, 0), (0, UNIT // 2))
    )
    share = sum((other != labels).sum() for other in others) / labels.sum()
    assert found["faint"] == round(100 * share, 2)
    listed = [one for one, unsure in found.items() if unsure >= MIN_UNSURE]
    assert [Path(one).stem for one in report["look_first"]] == listed
    assert ("look first at" in capsys.readouterr().out) == bool(listed)
