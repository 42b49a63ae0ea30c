"""A small image with a known object, and files created from it."""

import contextlib
import re

import cv2
import numpy as np
import pytest
from PIL import Image

from apps import cli


def run_in(command):
    """function(folder, *words) -> the status of a command that runs in a folder, with results in its folder `out`."""

    def run(folder, *words):
        with contextlib.chdir(folder):
            return cli.main([command, *map(str, words), "--overwrite", "--out", "out"])

    return run


def iou(one, other):
    """Intersection over union of two masks."""
    return (one & other).sum() / max(1, (one | other).sum())


def texture(shape, width=1.5, seed=0):
    """Noise in blobs of a width, uint8 from 0 to 255."""
    noise = cv2.GaussianBlur(np.random.default_rng(seed).uniform(0, 255, shape), (0, 0), width)
    return np.uint8(255 * (noise - noise.min()) / np.ptp(noise))


class Scene:
    """A bright disc on a dark ground, 32 x 32, with strokes and ground truth."""

    def __init__(self):
        rng = np.random.default_rng(0)
        y, x = np.mgrid[:32, :32]
        self.truth = (y - 16) ** 2 + (x - 15) ** 2 < 81
        colours = np.where(self.truth[..., None], (200, 120, 60), (40, 60, 90))
        self.image = np.clip(colours + rng.normal(0, 8, (32, 32, 3)), 0, 255).astype(np.uint8)
        self.strokes = np.zeros((32, 32), np.uint8)
        self.strokes[14:18, 10:20] = 1
        self.strokes[1:3, 2:30] = 2
        self.strokes[29:31, 2:30] = 2
        self.box = (4, 5, 27, 28)
        self.trimap = np.full((32, 32), 128, np.uint8)
        self.trimap[self.strokes == 1] = 255
        self.trimap[self.strokes == 2] = 0


@pytest.fixture
def scene():
    return Scene()


def save_scene(scene, folder):
    """Write photo.png, strokes.png, trimap.png and truth.png to a folder."""
    truth = np.uint8(255) * scene.truth.astype(np.uint8)
    images = {"photo": scene.image, "strokes": scene.strokes, "trimap": scene.trimap, "truth": truth}
    for name, pixels in images.items():
        Image.fromarray(pixels).save(folder / f"{name}.png")
    return scene


@pytest.fixture
def files(scene, tmp_path):
    """The scene as files in a folder."""
    save_scene(scene, tmp_path)
    return tmp_path


@pytest.fixture
def rejects(capfd):
    """Check that a command line ends with status 2 and one line, after its name `message`, and changes no file."""

    def check(line, message, folder):
        before = sorted(folder.rglob("*"))
        assert cli.main([str(word) for word in line]) == 2
        captured = capfd.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1, captured.err
        shown = captured.err.split("\r")[-1].lstrip()  # progress bars before it are erased
        assert re.match(f"cutmatch {line[0]}: .*?(?:{message})", shown), shown
        assert sorted(folder.rglob("*")) == before

    return check
