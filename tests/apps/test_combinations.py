"""Pairs of features that a user may combine: what each of them promises holds beside the other."""

import os

import numpy as np
import pytest
from PIL import Image

from apps.cli import main
from apps.common.images import read_image
from apps.session.session_records import Box, Marks
from apps.session.store import Store

BOX = ["--box", "4,5,27,28"]


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


def kept_session():
    assert main(["segment", "photo.png", *BOX, "--save-session", "kept.sqlite", "--quiet"]) == 0


def test_a_session_is_extended_in_place(here):
    kept_session()
    again = ["segment", "photo.png", "--overwrite", "--resume-session", "kept.sqlite", "--strokes", "strokes.png"]
    assert main([*again, "--save-session", "kept.sqlite"]) == 0
    rgb = read_image(here / "photo.png")
    with Store(here / "kept.sqlite") as store:
        kinds = [type(record) for record in store.read(rgb, rgb.shape[:2]).history.records]
    assert kinds == [Box, Marks]


def test_folders_are_volumes_with_their_whole_names(here):
    planes = np.random.default_rng(0).integers(0, 99, (3, 9, 8), dtype=np.uint8)
    planes[:, 3:6, 3:6] += 150
    seeds = np.zeros(planes.shape, np.uint8)
    seeds[1, 4, 4], seeds[:, 0] = 1, 2
    np.save("seeds.npy", seeds)
    for name in ("scan.1", "scan.2"):
        (here / name).mkdir()
        for number, plane in enumerate(planes):
            Image.fromarray(plane).save(here / name / f"{number}.png")
    strokes = ["--volume", "--strokes", str(here / "seeds.npy"), "--out", str(here / "out"), "--quiet"]
    os.chdir("scan.1")
    assert main(["segment", ".", *strokes]) == 0
    assert main(["segment", "../scan.2", *strokes]) == 0
    names = {path.name for path in (here / "out").iterdir() if path.is_file()}
    assert names == {f"scan.{n}-{what}" for n in (1, 2) for what in ("mask.tif", "slices.png", "segment.json")}
