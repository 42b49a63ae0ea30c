"""Several objects: in images, in volumes, and the command with --label-strokes."""

import json

import numpy as np
import pytest
import tifffile
from PIL import Image

from apps.common.figures import LETTER
from apps.segmentation.multilabel import segment_labels, segment_volume
from apps.volumes.volume_files import read_volume
from tests.apps.conftest import run_in

run = run_in("segment")

COLOURS = np.array([(40, 60, 90), (200, 120, 60), (60, 170, 80)])


class Scene:
    """A disc and a square on a ground, 40 x 48; ground truth 5, 1, 9 (ground, disc, square), seeds in each."""

    def __init__(self):
        y, x = np.mgrid[:40, :48]
        self.truth = np.full((40, 48), 5, np.uint8)
        self.truth[(y - 20) ** 2 + (x - 12) ** 2 < 64] = 1
        self.truth[12:30, 28:44] = 9
        colours = COLOURS[np.select([self.truth == 5, self.truth == 1], [0, 1], 2)]
        noise = np.random.default_rng(0).normal(0, 8, colours.shape)
        self.image = np.clip(colours + noise, 0, 255).astype(np.uint8)
        self.seeds = np.zeros((40, 48), np.uint8)
        self.seeds[18:22, 9:15] = 1
        self.seeds[18:24, 32:40] = 9
        self.seeds[2:4, 4:44] = 5
        self.seeds[36:38, 4:44] = 5


@pytest.fixture
def several():
    return Scene()


@pytest.fixture
def files(several, tmp_path):
    """photo.png, seeds.png, truth.png."""
    Image.fromarray(several.image).save(tmp_path / "photo.png")
    Image.fromarray(several.seeds).save(tmp_path / "seeds.png")
    Image.fromarray(several.truth).save(tmp_path / "truth.png")
    return tmp_path


@pytest.fixture
def ball(tmp_path):
    """A bright ball in a dark volume, 12 x 24 x 26: volume.npy, volume.tif, slices/, seeds.tif; its ground truth."""
    z, y, x = np.mgrid[:12, :24, :26]
    truth = np.where(4 * (z - 6) ** 2 + (y - 12) ** 2 + (x - 13) ** 2 < 64, 1, 2).astype(np.uint8)
    volume = np.where(truth == 1, 900, 300) + np.random.default_rng(0).normal(0, 60, truth.shape)
    volume = volume.astype(np.uint16)
    seeds = np.zeros_like(truth)
    seeds[5:8, 11:14, 12:15] = 1
    seeds[:, :2] = 2
    np.save(tmp_path / "volume.npy", volume)
    tifffile.imwrite(tmp_path / "volume.tif", volume)
    tifffile.imwrite(tmp_path / "seeds.tif", seeds)
    tifffile.imwrite(tmp_path / "truth.tif", truth)
    (tmp_path / "slices").mkdir()
    for n, plane in enumerate(volume):
        tifffile.imwrite(tmp_path / "slices" / f"s{n}.tif", plane)  # s2 comes before s10
    return tmp_path, volume, seeds, truth


def test_finds_three_objects(several, device):
    result = segment_labels(several.image / np.float32(255), several.seeds, device=device)
    assert result.solved.device == device
    assert result.values == (1, 5, 9)
    assert result.labels.dtype == np.uint8
    assert (result.labels == several.truth).mean() > 0.98
    marked = several.seeds > 0
    np.testing.assert_array_equal(result.labels[marked], several.seeds[marked])
    assert all(a >= b for a, b in zip(result.energies, result.energies[1:], strict=False))
    result.check()


def test_a_part_without_a_seed_goes_to_another(several):
    several.image[2:9, 38:46] = several.image[16:23, 8:16]  # the disc's colour elsewhere
    several.seeds[2:4] = 0
    rgb = several.image / np.float32(255)
    assert (segment_labels(rgb, several.seeds, keep="all").labels[4:7, 40:44] == 1).all()
    assert (segment_labels(rgb, several.seeds).labels[4:7, 40:44] != 1).all()


def test_two_labels_are_one_cut(several):
    seeds = np.where(several.seeds == 9, 0, several.seeds).astype(np.uint8)
    result = segment_labels(several.image / np.float32(255), seeds)
    assert set(np.unique(result.labels)) == {1, 5}
    assert result.solved.value >= 0, "a Cut"
    result.check()


def test_volume(ball, device):
    _, volume, seeds, truth = ball
    result = segment_volume(volume, seeds, spacing=(2, 1, 1), device=device)
    assert (result.labels == truth).mean() > 0.99
    result.check()


def test_spacing_scales_the_weights():
    """A voxel whose neighbours disagree gets the label of the nearer ones."""
    volume = np.full((3, 3, 3), 100.0)
    seeds = np.full((3, 3, 3), 1, np.uint8)
    seeds[[0, 2], 1, 1] = 2
    seeds[1, 1, 1] = 0
    # Two neighbours along z say 2, four across say 1.
    assert segment_volume(volume, seeds).labels[1, 1, 1] == 1
    assert segment_volume(volume, seeds, spacing=(1, 4, 4)).labels[1, 1, 1] == 2
    assert segment_volume(volume, seeds, spacing=(0.5, 2, 2)).labels[1, 1, 1] == 2, "only ratios count"


def test_command_on_an_image(files, several, capsys):
    assert run(files, "photo.png", "--label-strokes", "seeds.png", "--json", files / "r.json") == 0
    names = sorted(p.name for p in (files / "out").glob("[!.]*"))
    figures = [f"photo-{kind}.png" for kind in ("labels", "object1", "object5", "object9", "overlay", "strokes")]
    assert names == sorted([*figures, "photo-labels.json", "photo-segment.json"])
    labels = Image.open(files / "out" / "photo-labels.png")
    assert labels.mode == "L"
    assert (np.array(labels) == several.truth).mean() > 0.98
    cutout = np.array(Image.open(files / "out" / "photo-object9.png"))
    assert cutout[20, 36, 3] == 255
    assert cutout[0, 0, 3] == 0
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert set(report["pixels"]) == {"1", "5", "9"}
    assert "3 labels, " in capsys.readouterr().out


@pytest.mark.parametrize(("image", "options"), [("volume.npy", []), ("volume.tif", []), ("slices", ["--volume"])])
def test_command_on_a_volume(ball, image, options, capsys):
    files, volume, _, truth = ball
    np.testing.assert_array_equal(read_volume(files / image, folder=True).values, volume)
    arguments = ["--label-strokes", "seeds.tif", "--spacing", "2,1,1", *options]
    assert run(files, image, *arguments, "--json", files / "r.json") == 0
    stem = image.split(".")[0]
    suffix = ".npy" if image.endswith("npy") else ".tif"
    labels = np.load if suffix == ".npy" else tifffile.imread
    assert (labels(files / "out" / f"{stem}-labels{suffix}") == truth).mean() > 0.99
    height, width, _ = np.array(Image.open(files / "out" / f"{stem}-slices.png")).shape
    assert abs(width - (1200 + 8)) <= 3
    assert abs(height - (1200 * 24 / (26 + 26 + 24) + 2 * LETTER + 4 + 2 * LETTER)) <= 1, "with names and a key"
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert (report["depth"], report["height"], report["width"]) == (12, 24, 26)
    assert "26x24x12, 2 labels" in capsys.readouterr().out
