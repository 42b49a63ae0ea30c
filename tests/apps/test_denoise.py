"""Restoration: exact energies, improved images, and the command."""

import itertools
import json
import re

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

import gridcut
from apps import denoise
from apps.common.images import read_image
from gridcut.multilabel import total_variation as tv
from gridcut.multilabel.total_variation import DataTerm, check_total_variation, total_variation
from tests.apps.conftest import run_in

run = run_in("denoise")

SHAPE = (2, 3)


def energy(x, data, weights):
    total = sum(data(p, x[p]) for p in np.ndindex(x.shape))
    for (down, right), w in weights.items():
        for y, x0 in np.ndindex(x.shape):
            v, u = y + down, x0 + right
            if 0 <= v < x.shape[0] and 0 <= u < x.shape[1]:
                total += int(w[y, x0]) * abs(int(x[y, x0]) - int(x[v, u]))
    return total


def terms(rng, shape, levels, kind):
    """A random data term, and the function of the test that it stands for."""
    seen = rng.integers(0, levels, shape).astype(np.int32)
    weak = rng.random(shape) < 0.2
    centre = np.where(weak, seen, 2 * 3 * seen).astype(np.int32) if kind == "quadratic" else seen

    def data(p, value):
        off = abs(int(value) - int(seen[p]))
        return off if weak[p] else 3 * off**2 if kind == "quadratic" else 3 * off

    return DataTerm(centre, kind == "quadratic", 3, weak), data


OFFSETS = ((0, 1), (1, 0), (1, 1), (1, -1))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["quadratic", "linear"])
def test_total_variation_is_exact(seed, kind, device):
    rng = np.random.default_rng(seed)
    term, data = terms(rng, SHAPE, 4, kind)
    weights = {o: int(rng.integers(0, 9)) for o in OFFSETS[: 4 - seed % 3]}
    found = total_variation(term, 4, weights, device)
    every = (np.array(values).reshape(SHAPE) for values in itertools.product(range(4), repeat=6))
    arrays = {o: np.full(SHAPE, w) for o, w in weights.items()}
    assert energy(found, data, arrays) == min(energy(x, data, arrays) for x in every)
    check_total_variation(term, weights, found)


def by_thresholds(term, levels, weights):
    """The highest minimum from one cut of the whole image per threshold: no windows, no intervals."""
    labels = np.zeros(term.centre.shape, np.int32)
    for t in range(1, levels):
        rise = term.rise_at(np.full(labels.shape, t, np.int32))
        cut = gridcut.max_flow(np.maximum(-rise, 0), np.maximum(rise, 0), weights, device="cpu")
        cut.check()
        labels += cut.labels
    return labels


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("side", [(4, 1), (9, 2), (16, 4)], ids=str)
@pytest.mark.parametrize("weight", [1, 12, 200], ids="weight {}".format)
def test_windows_equal_cuts_of_the_whole_image(monkeypatch, side, weight, threads):
    """With a large weight the bounds of the first windows decide little, and larger windows have to."""
    monkeypatch.setattr(tv, "WINDOW_SIDE", side[0])
    monkeypatch.setattr(tv, "WINDOW_OVERLAP", side[1])
    monkeypatch.setattr(tv, "thread_count", lambda: threads)
    rng = np.random.default_rng(weight + side[0])
    for shape in ((23, 31), (1, 40), (40, 1), (1, 1), (2, 37)):
        for kind in ("quadratic", "linear"):
            term, _ = terms(rng, shape, 16, kind)
            weights = {o: weight + i for i, o in enumerate(OFFSETS)}
            found = total_variation(term, 16, weights, "cpu")
            np.testing.assert_array_equal(found, by_thresholds(term, 16, weights))


@pytest.fixture(scope="module")
def clean():
    """Two flat regions and a ramp, uint8 (48, 64, 3)."""
    image = np.empty((48, 64, 3), np.uint8)
    image[:] = (60, 90, 150)
    image[10:38, 8:30] = (200, 120, 70)
    image[:, 40:] = np.linspace(40, 200, 24).astype(np.uint8)[:, None]
    return image


def noisy(clean, sigma=12, seed=0):
    noise = np.random.default_rng(seed).normal(0, sigma, clean.shape)
    return np.clip(np.rint(clean + noise), 0, 255).astype(np.uint8)


def psnr(image, clean):
    return 10 * np.log10(1 / np.mean((np.asarray(image, float) - clean / 255) ** 2))


@pytest.mark.parametrize("grey", [True, False], ids=["grey", "colour"])
def test_gaussian_noise_is_removed(clean, grey, device):
    image = clean[..., 0] if grey else clean
    seen = noisy(image)
    result = denoise(seen, device=device)
    assert result.kind == "convex"
    assert result.image.shape == image.shape
    assert result.image.dtype == np.float32
    assert psnr(result.image, image) > psnr(seen / 255, image) + (5 if grey else 7)
    assert result.levels == (256 if grey else 512)
    untouched = denoise(seen, smoothness=0, device=device)
    np.testing.assert_allclose(untouched.image, seen / 255, atol=1e-6 if grey else 0.004)


def test_binary(clean, device):
    page = np.where(clean[..., 0] > 100, 255, 0).astype(np.uint8)
    flipped = np.random.default_rng(0).random(page.shape) < 0.1
    seen = np.where(flipped, 255 - page, page)
    result = denoise(seen, device=device)
    assert result.kind == "binary"
    assert set(np.unique(result.image)) == {0, 1}
    assert (result.image != page / 255).mean() < 0.02
    forced = denoise(noisy(clean)[..., 0], binary=True, device=device)
    assert set(np.unique(forced.image)) == {0, 1}


def page(noise=12, shape=(280, 420)):
    """A noisy, unevenly lit page of text, and its ink."""
    text = np.full(shape, 255, np.uint8)
    for line, y in enumerate(range(30, shape[0] - 10, 36)):
        cv2.putText(
            text, "The quick brown fox"[line:], (12, y), cv2.FONT_HERSHEY_SIMPLEX, 0.8, 0, 1 + line % 2, cv2.LINE_AA
        )
    down, right = np.meshgrid(*(np.linspace(0, 1, n) for n in shape), indexing="ij")
    light = 0.35 + 0.6 * np.exp(-1.5 * ((right - 0.8) ** 2 + (down - 0.2) ** 2))
    seen = (60 + 180 * (text / 255)) * light + np.random.default_rng(0).normal(0, noise, shape)
    return np.uint8(np.clip(seen, 0, 255)), text < 128


@pytest.mark.parametrize(("noise", "wrong"), [(5, 0.004), (12, 0.006), (25, 0.015)])
def test_letters_of_a_shaded_page_are_kept(noise, wrong):
    seen, ink = page(noise)
    result = denoise(seen, binary=True)
    assert result.smoothness == 0.2
    assert ((result.image == 0) != ink).mean() < wrong
    negative = denoise(255 - seen, binary=True)
    assert ((negative.image == 1) != ink).mean() < 1.2 * wrong


def test_binary_against_every_labelling():
    seen = np.random.default_rng(2).integers(0, 2, (3, 3)).astype(np.uint8) * 255
    result = denoise(seen, smoothness=0.6)
    step = {(0, 1): 0.5, (1, 0): 0.5, (1, 1): 0.125**0.5, (1, -1): 0.125**0.5}
    weights = {o: np.full((3, 3), round(16 * 0.6 * c)) for o, c in step.items()}

    def data(p, value):
        return 16 * abs(int(value) - int(seen[p]) // 255)

    every = [np.array(bits).reshape(3, 3) for bits in itertools.product((0, 1), repeat=9)]
    assert energy(np.int64(result.image), data, weights) == min(energy(x, data, weights) for x in every)


def test_holes_are_filled():
    image = np.full((30, 40), 80, np.uint8)
    image[:, 20:] = 180
    mask = np.zeros((30, 40), bool)
    mask[10:16, 5:35] = True
    seen = np.where(mask, 7, image).astype(np.uint8)
    result = denoise(seen, mask=mask, smoothness=5.0)
    assert np.abs(result.image * 255 - image)[mask].max() < 4
    assert result.kind == "convex"


@pytest.fixture
def files(clean, tmp_path):
    """noisy.png, clean.png, mask.png; in/ with a.png, b.jpg and c.tif of 16 bits."""
    Image.fromarray(noisy(clean)).save(tmp_path / "noisy.png")
    Image.fromarray(clean).save(tmp_path / "clean.png")
    mask = np.zeros((48, 64), np.uint8)
    mask[20:24] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    (tmp_path / "in").mkdir()
    Image.fromarray(noisy(clean)).save(tmp_path / "in" / "a.png")
    Image.fromarray(noisy(clean)).save(tmp_path / "in" / "b.jpg", quality=95)
    deep = clean[..., 0].astype(np.uint16) * 257 + np.arange(64, dtype=np.uint16)
    tifffile.imwrite(tmp_path / "in" / "c.tif", deep)
    return tmp_path


def test_command(files, clean, capsys):
    assert run(files, "noisy.png", "--truth", "clean.png", "--mask", "mask.png", "--json", files / "r.json") == 0
    names = sorted(p.name for p in (files / "out").glob("[!.]*"))
    assert names == ["noisy-denoise.json", "noisy-restored.png"]
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert report["truth"]["after"]["psnr"] > report["truth"]["before"]["psnr"] + 7
    restored = read_image(files / "out" / "noisy-restored.png")
    assert psnr(restored, clean) == pytest.approx(report["truth"]["after"]["psnr"], abs=0.1)
    assert re.search(r"PSNR \d+\.\d+ dB -> \d+\.\d+ dB", capsys.readouterr().out)


def test_every_kind_of_file(files):
    """The formats of a folder's images and of results; that a bad one does not stop the others is tested for all."""
    assert run(files, "in", "--threads", 2) == 0
    assert sorted(p.name for p in (files / "out").glob("*.png")) == [f"{name}-restored.png" for name in "abc"]
    assert cv2.imread(str(files / "out" / "c-restored.png"), cv2.IMREAD_UNCHANGED).dtype == np.uint16
