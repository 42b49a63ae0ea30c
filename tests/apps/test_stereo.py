"""Stereo on synthetic pairs: disparities, output files, printed lines, and rejected input."""

import json
import re

import numpy as np
import pytest
from PIL import Image

from apps.common.images import InputError
from apps.stereo_matching.costs import disparity_costs, mirrored_costs, region_costs
from apps.stereo_matching.disparities import stereo as compute
from apps.stereo_matching.disparity_files import encoded, read_disparity
from apps.stereo_matching.disparity_range import guess_max_disparity, supported
from apps.stereo_matching.disparity_scores import visible
from tests.apps.conftest import run_in, texture

run = run_in("stereo")

NEAR, FAR = 9, 3


@pytest.fixture(scope="module")
def pair():
    """A square at disparity NEAR before a wall at FAR: left, right uint8 (60, 90, 3), ground truth (60, 90)."""
    wall, square = texture((60, 120, 3), 1), texture((30, 30, 3), 1, 1)
    left, right = wall[:, :90].copy(), wall[:, FAR : 90 + FAR].copy()
    truth = np.full((60, 90), FAR, np.float32)
    left[15:45, 40:70] = square
    right[15:45, 40 - NEAR : 70 - NEAR] = square
    truth[15:45, 40:70] = NEAR
    return left, right, truth


@pytest.fixture
def files(pair, tmp_path):
    """left.png, right.png, truth.pfm; lefts/, rights/ with the pair twice."""
    left, right, truth = pair
    Image.fromarray(left).save(tmp_path / "left.png")
    Image.fromarray(right).save(tmp_path / "right.png")
    (tmp_path / "truth.pfm").write_bytes(encoded(truth, "pfm"))
    for folder, image in (("lefts", left), ("rights", right)):
        (tmp_path / folder).mkdir()
        for name in "ab":
            Image.fromarray(image).save(tmp_path / folder / f"{name}.png")
    return tmp_path


def test_finds_the_square(pair):
    left, right, truth = pair
    found = compute(left, right, max_disparity=12)
    seen = visible(truth, np.ones(truth.shape, bool))
    assert (np.abs(found.disparity - truth) <= 1)[seen].mean() > 0.99
    assert found.disparity.dtype == np.float32
    assert found.max_disparity == 12
    assert (np.abs(found.disparity - truth) <= 1).mean() > 0.97, "hidden pixels take the wall's disparity"
    assert not found.valid[20:40, 36:39].any(), "hidden left of the square"
    assert found.valid.mean() > 0.85
    assert len(found.solved) == 2
    for one in found.solved:
        one.check()


def test_costs_against_their_definition(pair):
    left, right = (image / np.float32(255) for image in pair[:2])
    whole = slice(0, left.shape[0]), slice(0, left.shape[1]), range(5)
    plain = region_costs(left, right, True, *whole, absolute=True)
    sampled = disparity_costs(left, right, 5)
    np.testing.assert_array_equal(region_costs(left, right, True, *whole), sampled)
    assert plain.dtype == np.int32
    assert (sampled <= plain).all(), "half pixels can only help"
    same = disparity_costs(left, left, 3)
    assert (same[0] == 0).all()
    np.testing.assert_array_equal(
        plain[3, :, :3], plain[2, :, :3], err_msg="outside the image the last cost is repeated"
    )
    mirrored = mirrored_costs(plain)
    np.testing.assert_array_equal(mirrored[4, :, :-4], plain[4, :, 4:])
    # With the cameras exchanged: the costs computed for the right image directly.
    swapped = region_costs(right, left, False, *whole, absolute=True)
    np.testing.assert_array_equal(mirrored[3, :, :-3], swapped[3, :, :-3])


def test_range_is_guessed_from_matches():
    left = texture((120, 200, 3), 1, 3) / np.float32(255)
    shifted = np.roll(left, -12, axis=1)
    assert 12 <= guess_max_disparity(left, shifted) <= 20
    with pytest.raises(InputError, match="left and right appear to be swapped"):
        guess_max_disparity(shifted, left)
    flat = np.full((40, 80, 3), 0.5, np.float32)
    assert guess_max_disparity(flat, flat) == 10, "an eighth of the width"
    points = np.random.default_rng(0).uniform(0, 50, (60, 2))
    steps = np.full(60, 5.0)
    steps[7] = 40
    assert supported(points, steps).max() == 5
    assert len(supported(points[:5], steps[:5])) == 0


def test_writes_everything(files, pair, capsys):
    assert run(files, "left.png", "right.png", "--truth", "truth.pfm", "--json", files / "r.json") == 0
    names = sorted(p.name for p in (files / "out").glob("[!.]*.png"))
    assert names == [f"left-{kind}.png" for kind in ("colour", "disparity", "error", "valid")]
    read, known = read_disparity(files / "out" / "left-disparity.png")
    assert known.all()
    assert (np.abs(read - pair[2]) <= 1).mean() > 0.97
    assert np.array(Image.open(files / "out" / "left-colour.png")).shape[1:] == (4 * 90, 3)
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert report["truth"]["bad_10"] < 3
    assert report["truth"]["visible_bad_10"] < 1
    assert set(report["files"]) == {"disparity", "colour", "valid", "error", "record"}
    assert re.search(
        r"off by more than 1 px: \d\.\d\d % of all pixels, 0\.\d\d % of visible ones", capsys.readouterr().out
    )


def test_folders_where_one_fails(files, capsys):
    whole = (files / "rights" / "b.png").read_bytes()
    (files / "rights" / "b.png").write_bytes(whole[:300])
    arguments = ["--format", "pfm", "--json", str(files / "r.json"), "--max-disparity", "12"]
    assert run(files, "lefts", "rights", *arguments) == 1
    captured = capsys.readouterr()
    assert "1 done, 1 failed" in captured.out
    assert re.search(r"cutmatch stereo: .*b\.png: right: cannot read", captured.err)
    assert "2/2" not in captured.err, "a progress bar in a log"
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert len(report["pairs"]) == len(report["failures"]) == 1
    assert read_disparity(files / "out" / "a-disparity.pfm")[0].shape == (60, 90)
