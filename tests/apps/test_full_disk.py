"""A full disk, as a limit of the size of files: one line, status 1, and each file complete or absent."""

import shutil

import numpy as np
import pytest
import tifffile
from PIL import Image

from apps import cli
from tests.apps.hostile_files import is_readable
from tests.apps.volumes import conftest as volumes
from tests.tiers import in_quick_tier

VOLUMES = ("v.nii", "v.nii.gz", "v.nrrd", "v.mha", "v.ome.tif", "v.tif", "v.npy")
resource = pytest.importorskip("resource")  # not on Windows
TIMED = (".json", ".html", ".npz", ".gz", ".nrrd", ".ome.tif")  # their contents have times
LINES = (
    "segment p.png --box 4,4,12,12 --write mask,overlay,cutout,coco,coco-rle,geojson,labelme --save-session s.json",
    "segment p.png --label-strokes strokes.png --json r.json",
    "segment p.png q.png --box 4,4,12,12 --write mask,coco,coco-rle --report r.html --json r.json",
    "segment c --clip --strokes 0.png --write mask,overlay,cutout --quiet",
    *(f"segment {name} --label-strokes seeds.npy" for name in VOLUMES),
    *(f"denoise p.png --format {kind}" for kind in ("png", "tif", "jpg")),
    "superpixels p.png --regions 9,4 --report r.html",
    "superpixels p.png --regions 9 --format npy",
    *(f"stereo p.png q.png --max-disparity 2 --truth true.npy --format {kind}" for kind in ("png", "pfm", "npy")),
    *(f"flow f.png g.png --format {kind}" for kind in ("flo", "kitti", "npz")),
    *(f"flow s.tif --video t.{kind}" for kind in ("mp4", "avi", "gif")),
    "match f.png g.png --model homography",
    "match f.png g.png --model homography --table t.json",
    *(f"track d.csv --search-range 2 --quiet --table table.{kind}" for kind in ("csv", "json", "npz")),
    *(f"track d.csv --search-range 2 --quiet --video t.{kind}" for kind in ("mp4", "avi", "gif")),
    "matching m.mtx --dulmage-mendelsohn",
    "matching m.mtx --table t.npy",
)

QUICK = (  # one of every command, and one video
    *LINES[:1],
    "segment v.nii.gz --label-strokes seeds.npy",
    "denoise p.png --format png",
    "superpixels p.png --regions 9,4 --report r.html",
    "stereo p.png q.png --max-disparity 2 --truth true.npy --format npy",
    "flow s.tif --video t.gif",
    "match f.png g.png --model homography --table t.json",
    "track d.csv --search-range 2 --quiet --table table.csv",
    "matching m.mtx --table t.npy",
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pixels = np.full((16, 16, 3), 60, np.uint8)
    pixels[5:11, 5:11] = 200
    marks = np.zeros((16, 16), np.uint8)
    marks[6:9, 6:9], marks[:, -2:] = 1, 2
    frame = rng.integers(0, 255, (20, 24), np.uint8).repeat(4, 0).repeat(4, 1)
    (tmp_path / "c").mkdir()
    for name in ("p.png", "q.png", "c/0.png", "c/1.png"):
        Image.fromarray(pixels + rng.integers(0, 9, pixels.shape, np.uint8)).save(name)
    for name in ("strokes.png", "0.png"):
        Image.fromarray(marks).save(name)
    for shift, name in enumerate(("f.png", "g.png")):
        Image.fromarray(np.roll(frame, shift, 1)).save(name)
    tifffile.imwrite("s.tif", np.stack([frame, np.roll(frame, 1, 1)]), photometric="minisblack")
    volume = pixels[..., 0].repeat(4).reshape(16, 16, 4).transpose(2, 0, 1).astype(np.uint16)
    for name in VOLUMES:
        volumes.write_volume(tmp_path / name, volume.copy())
    np.save("seeds.npy", np.stack([marks] * 4))
    np.save("true.npy", np.ones((16, 16), np.float32))
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n")
    rows = [f"{frame},{5 * point + frame},{3 * point}" for frame in range(3) for point in range(4)]
    (tmp_path / "d.csv").write_text("\n".join(["frame,x,y", *rows]) + "\n")
    return tmp_path


def with_limit(size, line):
    """Exit status of a command while no file may be larger than `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        return cli.main([*line.split(), "--device", "cpu", "--overwrite"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_complete(folder, before, whole):
    """All files of a folder are as before, or complete."""
    for name, content in contents(folder).items():
        assert ".part" not in name, name
        if content != before.get(name):
            assert is_readable(folder / name) is None, name
            if not name.endswith(TIMED):
                assert content == whole.get(name, content), name


@pytest.mark.parametrize("line", in_quick_tier(LINES, QUICK.__contains__))
def test_results_are_complete_or_absent(here, capsys, line):
    assert cli.main([*line.split(), "--device", "cpu"]) == 0
    whole = contents(here)
    sizes = sorted(
        {len(content) for name, content in whole.items() if name.startswith(("out/", "t.", "table.", "r.", "s.json"))}
    )
    capsys.readouterr()
    for limit in {0, 1, sizes[0] - 1, sizes[len(sizes) // 2] - 1, sizes[-1] - 1}:
        for earlier in (True, False):
            before = contents(here)
            status = with_limit(limit, line)
            error = capsys.readouterr().err
            assert status == 1 or (status == 0 and limit >= sizes[0] - 9), (limit, error)  # records contain times
            lines = error.splitlines()
            assert len(lines) <= (3 if " q.png --box" in line else 1), "one line for each image and the report"
            assert all("free some space" in one for one in lines), error
            check_complete(here, before, whole)
            if earlier:
                shutil.rmtree(here / "out", ignore_errors=True)
    assert cli.main([*line.split(), "--device", "cpu", "--overwrite"]) == 0
