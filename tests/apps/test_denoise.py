"""Restoration: exact energies, improved images, and the command."""

import itertools
import json
import re

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from apps.common.images import InputError, read_image
from apps.denoise import denoise, denoise_command
from apps.denoise.restoration import noise_of
from gridcut.multilabel.total_variation import total_variation

SHAPE = (2, 3)


def energy(x, data, weights):
    total = sum(data(p, x[p]) for p in np.ndindex(x.shape))
    for (down, right), w in weights.items():
        for y, x0 in np.ndindex(x.shape):
            v, u = y + down, x0 + right
            if 0 <= v < x.shape[0] and 0 <= u < x.shape[1]:
                total += int(w[y, x0]) * abs(int(x[y, x0]) - int(x[v, u]))
    return total


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["quadratic", "linear"])
def test_total_variation_is_exact(seed, kind, device):
    rng = np.random.default_rng(seed)
    seen = rng.integers(0, 4, SHAPE).astype(np.int32)
    weights = {o: rng.integers(0, 5, SHAPE).astype(np.int32) for o in ((0, 1), (1, 0), (1, -1))}
    if kind == "quadratic":
        found, cuts = total_variation(lambda t: 2 * (t - seen) - 1, SHAPE, 4, weights, device)
    else:
        found, cuts = total_variation(lambda t: np.where(t > seen, 2, -2), SHAPE, 4, weights, device)

    def data(p, value):
        off = int(value) - int(seen[p])
        return off**2 if kind == "quadratic" else 2 * abs(off)

    every = (np.array(values).reshape(SHAPE) for values in itertools.product(range(4), repeat=6))
    assert energy(found, data, weights) == min(energy(x, data, weights) for x in every)
    assert len(cuts) == 2
    for cut in cuts:
        cut.check()


def test_thresholds_are_nested():
    """Eight levels by bisection equal the eight levels cut one by one."""
    rng = np.random.default_rng(1)
    seen = rng.integers(0, 8, (6, 7)).astype(np.int32)
    weights = {(0, 1): np.full((6, 7), 3, np.int32), (1, 0): np.full((6, 7), 2, np.int32)}
    found, _ = total_variation(lambda t: 2 * (t - seen) - 1, seen.shape, 8, weights)
    import gridcut

    for t in range(1, 8):
        rise = 2 * (t - seen) - 1
        cut = gridcut.max_flow(np.maximum(-rise, 0), np.maximum(rise, 0), weights, device="cpu")
        np.testing.assert_array_equal(found >= t, cut.labels)


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


def test_noise_level_is_estimated(clean):
    assert noise_of(noisy(clean)[..., 0].astype(float)) == pytest.approx(12, rel=0.15)
    assert noise_of(np.zeros((2, 9))) == 0


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


def test_sixteen_bits_are_kept(clean):
    deep = clean[..., 0].astype(np.uint16) * 257 + np.random.default_rng(0).integers(0, 200, (48, 64), dtype=np.uint16)
    result = denoise(deep)
    assert result.levels == 65536
    assert len(np.unique(np.rint(result.image * 65535))) > 256
    assert psnr(result.image, clean[..., 0]) > 40


def test_impulse_noise_is_removed(clean):
    rng = np.random.default_rng(0)
    seen = clean.copy()
    hit = rng.random(clean.shape[:2])
    seen[hit < 0.05] = 0
    seen[hit > 0.95] = 255
    result = denoise(seen, data="linear")
    assert psnr(result.image, clean) > psnr(seen / 255, clean) + 10


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


def test_binary_against_every_labelling():
    seen = np.random.default_rng(2).integers(0, 2, (3, 3)).astype(np.uint8) * 255
    result = denoise(seen, smoothness=0.6)
    step = {(0, 1): 0.5, (1, 0): 0.5, (1, 1): 0.125**0.5, (1, -1): 0.125**0.5}
    weights = {o: np.full((3, 3), round(16 * 0.6 * c)) for o, c in step.items()}

    def data(p, value):
        return 16 * abs(int(value) - int(seen[p]) // 255)

    every = [np.array(bits).reshape(3, 3) for bits in itertools.product((0, 1), repeat=9)]
    assert energy(np.int64(result.image), data, weights) == min(energy(x, data, weights) for x in every)


@pytest.mark.parametrize(
    "settings",
    [{}, {"truncate": 20, "levels": 16}, {"smoothness_term": "potts", "levels": 8}],
    ids=["exact", "linear", "potts"],
)
def test_holes_are_filled(settings):
    image = np.full((30, 40), 80, np.uint8)
    image[:, 20:] = 180
    mask = np.zeros((30, 40), bool)
    mask[10:16, 5:35] = True
    seen = np.where(mask, 7, image).astype(np.uint8)
    result = denoise(seen, mask=mask, smoothness=5.0, **settings)
    assert np.abs(result.image * 255 - image)[mask].max() < (20 if settings else 4)
    assert result.kind == ("truncated" if settings else "convex")


def test_truncated_terms_keep_contrast(clean):
    seen = noisy(clean[..., 0])
    result = denoise(seen, truncate=5, smoothness=12.0, levels=32)
    assert psnr(result.image, clean[..., 0]) > psnr(seen / 255, clean[..., 0]) + 5
    squares = denoise(seen[:20, :20], smoothness_term="quadratic", truncate=4, smoothness=1.0, levels=8)
    assert squares.kind == "truncated"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"smoothness": -1}, "--smoothness must be from 0 to 10000, got -1"),
        ({"smoothness": np.nan}, "--smoothness must be from"),
        ({"data": "cubic"}, "--data must be one of quadratic, linear"),
        ({"smoothness_term": "cubic"}, "--smoothness-term must be one of potts, linear, quadratic"),
        ({"truncate_data": 0}, "--truncate-data must be above 0"),
        ({"truncate": 0}, "--truncate must be 1 or more"),
        ({"levels": 1}, "--levels must be from 2 to 256"),
        ({"mask": np.ones((2, 2))}, "--mask is 2x2 pixels, but the image is 64x48"),
        ({"mask": np.ones((48, 64))}, "--mask covers the whole image"),
    ],
)
def test_invalid_arguments_are_rejected(clean, settings, message):
    with pytest.raises(InputError, match=message):
        denoise(clean, **settings)


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


def in_folder(files, arguments):
    arguments = [str(files / a) if re.search(r"\.png$|^(in|nothing)$", str(a)) else str(a) for a in arguments]
    return [*arguments, "--out", str(files / "out")]


def run(files, *arguments):
    return denoise_command.main(in_folder(files, arguments))


def test_command(files, clean, capsys):
    assert run(files, "noisy.png", "--truth", "clean.png", "--mask", "mask.png", "--json", files / "r.json") == 0
    assert [p.name for p in (files / "out").glob("[!.]*")] == ["noisy-restored.png"]
    report = json.loads((files / "r.json").read_text())
    assert report["truth"]["after"]["psnr"] > report["truth"]["before"]["psnr"] + 7
    assert report["truth"]["after"]["ssim"] > report["truth"]["before"]["ssim"]
    restored = read_image(files / "out" / "noisy-restored.png")
    assert psnr(restored, clean) == pytest.approx(report["truth"]["after"]["psnr"], abs=0.1)
    assert re.search(r"PSNR \d+\.\d+ dB -> \d+\.\d+ dB; SSIM 0\.\d+ -> 0\.\d+", capsys.readouterr().out)


def test_folder_of_all_kinds(files, capsys):
    (files / "in" / "d.png").write_bytes((files / "noisy.png").read_bytes()[:300])
    assert run(files, "in", "--threads", 2) == 1
    captured = capsys.readouterr()
    assert "3 done, 1 failed" in captured.out
    assert re.search(r"cutmatch denoise: .*d\.png: image: cannot read", captured.err)
    assert sorted(p.name for p in (files / "out").glob("*.png")) == [f"{name}-restored.png" for name in "abc"]
    assert cv2.imread(str(files / "out" / "c-restored.png"), cv2.IMREAD_UNCHANGED).dtype == np.uint16
    assert run(files, "noisy.png", "--format", "tif", "--quiet") == 0
    assert tifffile.imread(files / "out" / "noisy-restored.tif").shape == (48, 64, 3)


def test_an_exact_copy_has_no_psnr(files, capsys):
    assert run(files, "clean.png", "--truth", "clean.png", "--smoothness", "0", "--json") == 0
    assert json.loads(capsys.readouterr().out)["truth"]["before"]["psnr"] is None


BAD = [
    (["gone.png"], r"image: no file .*check the path"),
    (["half.png"], r"image: cannot read .*pass a complete PNG"),
    (["nothing"], r"image: folder .* holds no image"),
    (["noisy.png", "--mask", "gone.png"], r"--mask: no file"),
    (["noisy.png", "--mask", "small.png"], r"--mask is 3x2 pixels, but the image is 64x48"),
    (["noisy.png", "--mask", "full.png"], r"--mask covers the whole image"),
    (["noisy.png", "--truth", "small.png"], r"--truth is 3x2 pixels, but the image is 64x48"),
    (["noisy.png", "--smoothness", "-1"], r"--smoothness must be from 0 to 10000, got -1"),
    (["noisy.png", "--levels", "1"], r"--levels must be from 2 to 256, got 1"),
    (["noisy.png", "--threads", "0"], r"--threads must be 1 or more, got 0"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line_and_nothing_is_written(files, arguments, message, rejects):
    (files / "half.png").write_bytes((files / "noisy.png").read_bytes()[:900])
    (files / "nothing").mkdir()
    Image.fromarray(np.ones((2, 3), np.uint8)).save(files / "small.png")
    Image.fromarray(np.full((48, 64), 255, np.uint8)).save(files / "full.png")
    rejects(["denoise", *in_folder(files, arguments)], message, files)
