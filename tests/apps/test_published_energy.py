"""`cutmatch segment --energy`: the energies of a paper, by the methods of `gridcut.max_flow`."""

import itertools
import json

import numpy as np
import pytest
from PIL import Image

from apps.cli import main
from apps.segment import published_energy as published
from apps.segment.strokes import read_scribbles
from gridcut import binary_minimum

ARGUMENTS = ["segment", "photo.png", "--scribbles", "strokes.png"]


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


@pytest.mark.parametrize("kind", ["f2", "f3"])
def test_the_energy_is_the_formula(kind):
    rng = np.random.default_rng(2)
    rgb = rng.integers(0, 255, (3, 4, 3), np.uint8)
    marks = np.full((3, 4), -1)
    marks[0, 0], marks[2, 3] = 0, 1
    energy = published.energy_of_strokes(rgb, marks, kind)
    grey = rgb.mean(2)
    for bits in itertools.islice(itertools.product((0, 1), repeat=12), 0, None, 37):
        x = np.reshape(bits, (3, 4))
        total = sum(energy.unary[x[p], *p] for p in np.ndindex(3, 4))
        for line, step in [(x, grey), (x.T, grey.T)]:
            weight = np.rint(100 * np.exp(-(np.diff(step) ** 2) / 200))
            total += (weight * (np.diff(line) != 0)).sum()
            if kind == "f3":
                total += 40 * ((line[:, 2:] != line[:, 1:-1]) | (line[:, 2:] != line[:, :-2])).sum()
        assert energy.value(x.astype(bool)) == total


def test_costs_are_those_of_colours_and_strokes():
    rgb = np.zeros((1, 4, 3), np.uint8)
    rgb[0, 2:] = 255
    energy = published.energy_of_strokes(rgb, np.array([[-1, 0, 1, -1]]), "f2")
    rare, often = np.rint(-20 * np.log(np.array([1, 2]) / 513))
    assert energy.unary.tolist() == [[[often, often, 10_000, rare]], [[rare, 10_000, often, often]]]


@pytest.mark.parametrize("kind", ["f2", "f3"])
@pytest.mark.parametrize("method", [None, "push_relabel", "lock_free"])
def test_every_method_finds_the_same_object(here, kind, method):
    given = ["--device", "cpu", "--json", "r.json", *(["--method", method] if method else [])]
    assert main([*ARGUMENTS, "--energy", kind, *given, "--quiet"]) == 0
    report = json.loads((here / "r.json").read_text("utf-8"))
    assert report["method"] == (method or "ibfs")
    assert report["rounds"] == 1
    mask = np.asarray(Image.open("out/photo-mask.png")) > 0
    rgb = np.asarray(Image.open("photo.png").convert("RGB"))
    energy = published.energy_of_strokes(rgb, read_scribbles("strokes.png"), kind)
    least = binary_minimum(energy, device="cpu", method="ibfs")
    least.check()
    assert (least.labels == mask).all()
    assert report["energies"] == [round(least.value / published.UNIT, 3)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--method ibfs", "--method selects the cut of --energy f2 or f3"),
        (
            "--energy f2 --method best --device cpu",
            "--method must be one of auto, ibfs, push_relabel, lock_free",
        ),
        ("--energy f2 --method hybrid --device cpu", "got 'hybrid'"),
        ("--energy f2 --method out_of_core", "got 'out_of_core'"),
        ("--energy f3 --keep all", "--keep does not apply to --energy"),
        ("--energy f3 --fill-holes", "--fill-holes does not apply to --energy"),
    ],
)
def test_bad_options(here, rejects, given, message):
    rejects([*ARGUMENTS, *given.split()], message, here)


def test_other_hints_have_no_such_energy(here, rejects):
    message = "--energy f2 needs strokes on the object and on the background"
    rejects(["segment", "photo.png", "--box", "4,5,27,28", "--energy", "f2"], message, here)
    rejects(["segment", "photo.png", "--start", "truth.png", "--energy", "f2"], "--start does not apply to", here)
    rejects([*ARGUMENTS, "--resume-session", "s.json", "--energy", "f2"], "--resume-session does not apply to", here)
    rejects(["segment", "photo.png", "--labels", "strokes.png", "--energy", "f2"], "--energy applies to a", here)
    (here / "b.json").write_text("{}")
    rejects(["segment", "photo.png", "--boxes", "b.json", "--energy", "f2"], "--energy does not apply to", here)
