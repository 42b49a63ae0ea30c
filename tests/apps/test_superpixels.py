"""Superpixels: exact numbers, connected and nested regions, scores of drawn labels, and what the command writes."""

import json

import numpy as np
import pytest
from PIL import Image
from skimage import data
from skimage.measure import label as components
from skimage.measure import regionprops

from apps import superpixels
from apps.regions import merging
from apps.regions.regions import outline_figure
from benchmarks.superpixels import score_regions
from tests.apps.conftest import run_in

run = run_in("superpixels")


def astronaut(step=4):
    return np.ascontiguousarray(data.astronaut()[::step, ::step])


def images():
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:40, :50]
    dots = np.full((60, 60), 255, np.uint8)
    dots[1::3, 1::3] = rng.integers(0, 100, (20, 20))
    return {
        "photo": astronaut(8),
        "plain": np.full((24, 31), 77, np.uint8),
        "noise": rng.integers(0, 256, (33, 21, 3), dtype=np.uint8),
        "ramp": (x + y).astype(np.float32) / 100,
        "chequers": np.uint8(255) * ((x + y) % 2).astype(np.uint8),
        "dots": dots,
        "row": rng.integers(0, 256, (1, 57), dtype=np.uint8),
        "column": rng.integers(0, 2**16, (43, 1), dtype=np.uint16),
        "pixel": np.zeros((1, 1, 4), np.uint8),
        "two": np.array([[True, False]]),
    }


@pytest.mark.parametrize("name", images())
def test_any_number_of_connected_regions(name):
    image = images()[name]
    pixels = image.shape[0] * image.shape[1]
    found = superpixels(image, min(7, pixels))
    assert found.regions == min(7, pixels)
    np.testing.assert_array_equal(found.labels, found.labels_at(found.regions))
    for count in {1, min(2, pixels), min(30, pixels), pixels // 2 or 1, pixels}:
        labels = found.labels_at(count)
        assert labels.dtype == np.int32
        assert labels.shape == image.shape[:2]
        first = np.unique(labels, return_index=True)
        np.testing.assert_array_equal(first[0], np.arange(count))
        assert (np.diff(first[1]) > 0).all()
        assert components(labels, connectivity=1, background=-1).max() == count


@pytest.fixture
def thin_strips(monkeypatch):
    """Strips of 8 rows, for all sizes."""
    monkeypatch.setattr(merging, "ONE_STRIP_PIXELS", 0)
    monkeypatch.setattr(merging, "STRIP_PIXELS", 1)
    monkeypatch.setattr(merging, "MIN_STRIP_ROWS", 8)


@pytest.mark.parametrize("name", images())
def test_strips_give_any_number_of_connected_nested_regions(name, thin_strips):
    image = images()[name]
    shape, pixels = image.shape[:2], image.shape[0] * image.shape[1]
    found = superpixels(image, 1)
    found._hierarchy.check(merging.grid_graph(*shape))
    finer = np.arange(pixels)
    for count in sorted({1, min(2, pixels), min(30, pixels), pixels // 2 or 1, pixels}, reverse=True):
        labels = found.labels_at(count)
        assert components(labels, connectivity=1, background=-1).max() == count
        nested = np.unique(np.stack([finer.ravel(), labels.ravel()]), axis=1)
        assert nested.shape[1] == np.unique(finer).size
        finer = labels


def test_bytes_and_floats_give_the_same(thin_strips):
    image = astronaut()
    found = superpixels(image, 60)
    floats = image.astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(found.labels, superpixels(floats, 60).labels)
    before = image.copy()
    np.testing.assert_array_equal(outline_figure(image, found.labels), outline_figure(floats, found.labels))
    np.testing.assert_array_equal(image, before)


def test_better_than_slic():
    """On a real object: in the ground truth a coin is brighter than its ground, smoothed and cleaned."""
    from scipy import ndimage
    from skimage.segmentation import slic

    image = data.coins()[:, 100:]
    smooth = ndimage.gaussian_filter(image.astype(float), 2)
    truth = ndimage.binary_fill_holes(ndimage.binary_opening(smooth > 110, iterations=3)).astype(np.int32)
    ours = score_regions(superpixels(image, 150).labels, truth)
    theirs = score_regions(slic(image, 150, channel_axis=None, start_label=0), truth)
    assert ours.boundary_recall > theirs.boundary_recall
    assert ours.undersegmentation_error < theirs.undersegmentation_error


def test_writes_labels_and_outlines(files, capsys):
    out = files / "out"
    given = ("--regions", 6, "--json", files / "r.json")
    assert run(files, "photo.png", *given) == 0
    assert sorted(p.name for p in out.glob("[!.]*.png")) == ["photo-labels.png", "photo-outlines.png"]
    labels = np.array(Image.open(out / "photo-labels.png"))
    assert labels.dtype == np.uint16
    np.testing.assert_array_equal(labels, superpixels(np.array(Image.open(files / "photo.png")), 6).labels + 1)
    assert [region.label for region in regionprops(labels)] == [1, 2, 3, 4, 5, 6]
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert report["first_label"] == 1
    assert "6 regions" in capsys.readouterr().out
