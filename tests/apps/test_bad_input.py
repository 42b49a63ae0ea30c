"""One table of bad input for all commands: a command line, and the words of its one line of error."""

import shlex

import numpy as np
import pytest
import scipy.io
import skimage.data
import tifffile
from PIL import Image

from apps import cli
from apps.segmentation.location import LOCATING, OPTIONS, either
from tests.apps.conftest import Scene, save_scene, texture
from tests.apps.flow_samples import write_flow
from tests.apps.volumes.conftest import SHAPE, Ball, write_dicom, write_imagej, write_itk_image

TABLES = {
    "columns": "t,x,z\n0,1,2\n",
    "head": "frame,x,y\n",
    "few": "frame,x,y\n0,1,2\n1,1,2\n2,1,2\n",
}
BOX = "segment photo.png --box 1,1,9,9 "
LABELS = "segment photo.png --label-strokes "
SCAN = "segment a.nii.gz --strokes "
PAIR = "stereo left.png right.png "
FLOW = "flow left.png right.png "
MATCH = "match large.png coins.png "
BAD = [
    ("segment photo.png", f"pass {either(OPTIONS)}, got none"),
    ("segment photo.png --strokes strokes.png --trimap trimap.png", "--strokes or --trimap, got both"),
    ("segment gone.png --box 1,1,5,5", "image: no file .*check the path"),
    ("segment words.png --box 1,1,5,5", "image: cannot read .*not an image"),
    ("segment half.png --box 1,1,5,5", "image: cannot read .*pass a complete PNG"),
    ("segment nothing --box 1,1,5,5", "image: folder .* holds no image"),
    ("segment photo.png --strokes gone.png", "--strokes: no file"),
    ("segment photo.png --strokes half.png", "--strokes: cannot read"),
    ("segment photo.png --strokes small.png", "--strokes is 3x2 pixels, but the image is 32x32"),
    ("segment photo.png --strokes empty.png", "--strokes: .* is empty"),
    ("segment photo.png --strokes odd.png", "--strokes: .* holds unknown values 77"),
    ("segment photo.png --strokes object.png", "--strokes marks no background"),
    ("segment photo.png --strokes ground.png", "--strokes marks no object"),
    ("segment photo.png --trimap truth.png", "--trimap marks every pixel"),
    ("segment photo.png --box 40,1,50,20", "box 40,1,50,20 contains no pixel of the image, which is 32 wide"),
    ("segment photo.png --box 5,5,5,9", "box 5,5,5,9 contains no pixel"),
    ("segment photo.png --box a,b,c,d", "box needs four integers"),
    ("segment photo.png --boxes boxes.json", "has no entry 'photo'"),
    (BOX + "--keep touching", "keep touching needs object strokes"),
    (BOX + "--truth small.png", "--truth is 3x2 pixels"),
    (BOX + "--min-area -1", "--min-area must be 0 or more"),
    (BOX + "--band 3", "--band does not apply to images"),
    (BOX + "--spacing 1,1,2", "--spacing does not apply to images"),
    (BOX + "--write ''", "--write is empty; pass a value"),
    (BOX + "--write mask,nonsense", "--write.*nonsense"),
    (BOX + "--volume", "image: .*photo.png' is not a volume"),
    (LABELS + "strokes.png --box 1,1,5,5", "--box does not apply to --label-strokes"),
    (LABELS + "small.png", "strokes is 3x2 pixels, but the image is 32x32"),
    (LABELS + "empty.png", "strokes hold no stroke; mark at least two objects"),
    (LABELS + "object.png", "strokes hold only 1; mark at least two objects"),
    (LABELS + "full.png", "strokes marks every pixel"),
    (LABELS + "strokes.png --fill-holes", "--fill-holes does not apply to --label-strokes; omit it"),
    (LABELS + "strokes.png --keep largest", "keep must be one of touching, all, got .largest."),
    (
        SCAN + "moved.nii.gz",
        r"has spacing 2 0\.8 0\.7 mm .*origin 0 0 0 .*, but .*origin -100\.5 20\.25 33.*; resample",
    ),
    (SCAN + "short.nii.gz", "--strokes is 5x24x26 voxels, but the image is 12x24x26"),
    (SCAN + "small.png", "--strokes: .*small.png' is not a volume"),
    (SCAN + "one.nii.gz", r"--strokes marks no background: .*; add a stroke on it \(blue, or"),
    (SCAN + "7x7", "--strokes: folder '7x7' holds one image; a volume has two slices or more"),
    (SCAN + "seeds.nii.gz --fill-holes", "--fill-holes does not apply to volumes"),
    (SCAN + "seeds.nii.gz --spacing 0,1,1", "spacing needs three sizes above 0"),
    ("segment a.nii.gz --box 1,1,5,5", f"volumes require {either(LOCATING['volumes'])}, got --box"),
    ("segment a.nii.gz --start seeds.nii.gz --band 0", "band must be above 0 voxels, got 0"),
    ("segment a.nii.gz --label-strokes a.nii.gz", "holds the value -[0-9]+; labels are integers from 0"),
    ("segment a.nii.gz --label-strokes float.npy", "--label-strokes: .* holds fractions such as 0.5; pass integers"),
    ("segment constant.nii.gz --strokes seeds.nii.gz", "is constant: every voxel is 4; pass a volume"),
    ("segment half.tif --label-strokes seeds.nii.gz", "image: cannot read .*half.tif'.*pass a complete .*TIFF"),
    ("segment plane.npy --label-strokes seeds.nii.gz", "image: .* a volume has three axes"),
    ("segment nan.npy --label-strokes seeds.nii.gz", "image: .* holds NaN or infinity"),
    ("segment channels.tif --strokes small.png", "channels.tif' has the axes"),
    ("segment 7x7 --label-strokes seeds.nii.gz --volume", "image: folder .* holds one image; a volume has two"),
    ("denoise photo.png --mask small.png", "mask is 3x2 pixels, but the image is 32x32"),
    ("denoise photo.png --mask white.png", "mask covers the whole image"),
    ("denoise photo.png --truth small.png", "--truth is 3x2 pixels, but the image is 32x32"),
    ("denoise photo.png --smoothness -1", "smoothness must be from 0 to 10000, got -1"),
    ("superpixels photo.png --regions many", "--regions needs integers"),
    ("superpixels photo.png --regions 5,5", "--regions needs different numbers"),
    ("superpixels photo.png --regions 65536", "65536 does not fit into the 16 bits of PNG; call apps.superpixels"),
    ("superpixels photo.png --regions 2000,5", "regions must be an integer from 1 to 1024"),
    ("superpixels photo.png --regularity nan", "regularity must be a colour difference from 1e-6"),
    ("stereo left.png small.png", "right is 3x2 pixels, but left is 90x60; make them the same size"),
    ("stereo small.png small.png", "the images are 3x2 pixels; pass at least 8x8"),
    ("stereo left.png black.png", "right has no texture: one colour throughout"),
    ("stereo right.png left.png", "left and right appear to be swapped"),
    ("stereo left.png nothing", "right is a folder and left is not; pass two images or two folders"),
    (PAIR + "--max-disparity 90", "max_disparity must be 1 to 89 .*got 90"),
    (PAIR + "--truth left.png", "--truth: .* an 8-bit image; pass --truth-scale"),
    (PAIR + "--truth black.png --truth-scale 4", "--truth: every pixel is unknown"),
    (PAIR + "--truth-scale 0", "--truth-scale must be 1e-6 to 1e6, got 0"),
    ("flow left.png", "frames: .*left.png' is a single frame; pass a second one"),
    ("flow left.png right.png left.png", "frames: got 3 files; pass two frames"),
    ("flow gone.avi", "frames: no file or folder .*gone.avi"),
    ("flow broken.avi", "frames: cannot read .*broken.avi'.* as a video"),
    ("flow left.png photo.png", "frames: the second is 32x32 pixels, but the first is 90x60; make them the same size"),
    ("flow small.png small.png", "frames are 3x2 pixels; pass frames of at least 16x16"),
    ("flow black.png black.png", "texture"),
    (FLOW + "--truth small.flo", "--truth is 20x30 pixels, but the fr"),
    (FLOW + "--truth right.png", "--truth: cannot read .*16 bits"),
    (FLOW + "--truth unknown.flo", "--truth: every pixel is unknown"),
    (FLOW + "--max-motion 0", "--max-motion must be above 0 pixels, got 0"),
    ("match black.png large.png", "the first image has no texture"),
    ("match large.png ramp.png", r"the second image has \d points, too few to match"),
    (MATCH, "no more than expected by chance"),
    (MATCH + "--inlier-threshold -1", "--inlier-threshold must be above 0 pixels, got -1"),
    (MATCH + "--truth words.png", "must contain the nine numbers"),
    (MATCH + "--truth zeros.txt", "must contain the nine numbers"),
    ("matching words.mtx", "file: .*words.mtx' is not a complete MatrixMarket file"),
    ("matching dense.mtx", "a dense matrix; save a sparse matrix"),
    ("matching head.csv", r"file: unknown file format .* must end in \.mtx, \.mtx\.gz or \.npz"),
    ("matching a.mtx --method best", "--method must be one of auto, .*hopcroft_karp.*; got 'best'"),
    ("track nothing", "contains no frame"),
    ("track photo.png", "is a single image"),
    ("track 7x7", "contains one frame; two or more are needed"),
    ("track columns.csv", "has no column frame and no y; it needs frame, x and y"),
    ("track few.csv", "3 points in 3 frames .*too few to track"),
    ("track few.csv --search-range inf", "--search-range must be above 0 pixels, got inf"),
    ("track few.csv --memory -1", "--memory must be 0 or more frames, got -1"),
    ("track few.csv --predict image", "--predict image needs frames"),
    ("track few.csv --video t.webp", "--video: 't.webp' must end in .mp4, .avi, .gif"),
    ("track few.csv --video t.gif", "--video needs frames"),
]
BAD += [(f"{command} photo.png --threads 0", "--threads must be 1 or more") for command in ("segment", "denoise")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All files that the lines name."""
    here = tmp_path_factory.mktemp("bad")
    scene, ball = save_scene(Scene(), here), Ball()
    images = {
        "small": np.array([[0, 1, 2], [0, 1, 2]]),
        "empty": 0 * scene.strokes,
        "odd": 0 * scene.strokes + 77,
        "object": scene.strokes == 1,
        "ground": 2 * (scene.strokes == 2),
        "full": np.maximum(scene.strokes, 1) + (np.arange(32) > 16),
        "white": 0 * scene.strokes + 255,
        "black": np.zeros((60, 90)),
        "ramp": np.tile(np.arange(100), (100, 1)),
        "large": skimage.data.astronaut()[:240, 100:400],
        "coins": skimage.data.coins()[:150, :200],
        "7x7/7x7": np.eye(7),
    }
    wall = texture((60, 120, 3), 1)
    for name, pixels in {**images, "left": wall[:, :90], "right": wall[:, 5:95]}.items():
        (here / name).parent.mkdir(exist_ok=True)
        Image.fromarray(np.uint8(pixels)).save(here / f"{name}.png")
    for name, text in TABLES.items():
        (here / f"{name}.csv").write_text(text)
    (here / "nothing").mkdir()
    (here / "words.png").write_text("no image")
    (here / "half.png").write_bytes((here / "photo.png").read_bytes()[:900])
    (here / "boxes.json").write_text('{"other": [1, 2, 3, 4]}')
    (here / "broken.avi").write_bytes(b"RIFF" + bytes(100))
    (here / "zeros.txt").write_text("0 " * 9)
    write_flow(here / "small.flo", np.zeros((30, 20, 2)))
    write_flow(here / "unknown.flo", np.zeros((60, 90, 2)), np.zeros((60, 90), bool))
    (here / "words.mtx").write_text("no matrix")
    scipy.io.mmwrite(here / "dense.mtx", np.ones((2, 2)))
    (here / "a.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n")
    for name, values in {
        "a": ball.values,
        "seeds": ball.seeds,
        "one": np.uint8(ball.seeds == 1),
        "short": ball.seeds[:5],
        "constant": 0 * ball.values + 4,
    }.items():
        write_itk_image(here / f"{name}.nii.gz", values)
    write_itk_image(here / "moved.nii.gz", ball.seeds, origin=(0.0, 0.0, 0.0))
    np.save(here / "float.npy", np.full(SHAPE, 0.5))
    np.save(here / "nan.npy", np.full(SHAPE, np.nan))
    np.save(here / "plane.npy", np.zeros(SHAPE[1:]))
    tifffile.imwrite(here / "whole.tif", ball.seeds, photometric="minisblack")
    (here / "half.tif").write_bytes((here / "whole.tif").read_bytes()[:3000])
    write_imagej(here / "channels.tif", ball.values.view(np.uint16), axes="CYX")
    write_dicom(here / "series", ball.values)
    return here


@pytest.mark.parametrize(("line", "message"), BAD, ids=[line for line, _ in BAD])
def test_bad_input_is_one_line_and_nothing_is_written(line, message, folder, rejects, monkeypatch):
    monkeypatch.chdir(folder)
    rejects([*shlex.split(line), "--out", "out"], message, folder)


def test_results_are_not_written_among_slices(folder, rejects, monkeypatch):
    monkeypatch.chdir(folder)
    rejects("segment series --strokes seeds.nii.gz --out series".split(), "--out: .* is the folder of image", folder)


def test_a_command_that_there_is_not(capsys):
    assert cli.main(["cut"]) == 2
    assert "cut" in capsys.readouterr().err
