"""Volumes, clips, sessions and deep images for hostile command lines: good ones, and damaged ones of every kind.

`written()` returns the contents of the regular files by name, `folders()` those of the folders; a name may contain a
path.  All have the size of `hostile_files._photo`, so that strokes fit; clips have 64 x 64 pixels.
"""

import contextlib
import gzip
import sqlite3
import tempfile
import zlib
from functools import cache
from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

DEPTH, SIDE, CLIP_SIDE = 6, 24, 64
NRRD = "NRRD0004\ntype: {}\ndimension: 3\nsizes: {}\nencoding: raw\nendian: little\n{}\n"
META = "ObjectType = Image\nNDims = 3\nDimSize = {}\nElementType = MET_UCHAR\nElementDataFile = {}\n"
VOLUMES = ("head.nii.gz", "plain.nii", "mri.nrrd", "ct.mha", "meta.mhd", "image.ome.tif", "dicom")
SEEDS = ("seeds.nii.gz", "seeds.nrrd", "seeds.npy", "seeds.tif", "many.nii.gz", "slices")
BAD_VOLUMES = (
    *("cut.nii.gz", "empty.nii.gz", "text.nrrd", "huge.nrrd", "missing.nhdr", "nan.mha", "flat.mha", "vector.nrrd"),
    *("four.nii", "cut dicom", "text.dcm"),
)
CLIPS = ("clip.avi", "clip.mp4", "frames", "movie.gif", "stack.npy")
SESSIONS = (
    *("session.sqlite", "session cut.sqlite", "session other.sqlite", "session version.sqlite", "boxes.json"),
    *("session tables.sqlite", "session marks.sqlite", "session bomb.sqlite", "session options.sqlite", "null.json"),
)
STRANGE_NAMES = ('quote\'d "name".png', "line\nbreak.png", "percent %20#?.png", "комета 雪.png", "<b>&amp;.png")


def volume(shift: int = 0) -> np.ndarray:
    """A bright ball on a dark ground, uint8 (DEPTH, SIDE, SIDE)."""
    z, y, x = np.mgrid[:DEPTH, :SIDE, :SIDE]
    ball = 4 * (z - 3) ** 2 + (y - 12) ** 2 + (x - 12 - shift) ** 2 < 40
    noise = np.random.default_rng(3).normal(0, 12, ball.shape)
    return np.clip(np.where(ball, 190, 50) + noise, 0, 255).astype(np.uint8)


def marks() -> np.ndarray:
    """Strokes in the volume: 1 in the ball, 2 outside."""
    found = np.zeros((DEPTH, SIDE, SIDE), np.uint8)
    found[2:5, 11:14, 10:14] = 1
    found[:, 1:3, 1:22] = 2
    return found


@cache
def written() -> dict[str, bytes]:
    """Contents of the regular files, by name."""
    return {**_volumes(), **_images(), **_clips(), **_sessions(), **_matrices()}


@cache
def folders() -> dict[str, dict[str, bytes]]:
    """Contents of the folders: {folder: {name: content}}."""
    import tifffile

    from tests.apps.volumes.conftest import write_dicom

    def tiff(array):
        file = BytesIO()
        tifffile.imwrite(file, array, photometric="minisblack")
        return file.getvalue()

    with tempfile.TemporaryDirectory() as top:
        write_dicom(Path(top), volume().astype(np.int16))
        dicom = {path.name: path.read_bytes() for path in Path(top).iterdir()}
    planes = {f"{number:03}.png": _png(plane) for number, plane in enumerate(volume())}
    red = np.where(_clip_strokes()[..., None] == 1, (255, 0, 0), 0).astype(np.uint8)
    return {
        "dicom": dicom,
        "cut dicom": {name: content[:200] for name, content in dicom.items()},
        "planes": planes,
        "uneven planes": {**planes, "006.png": _png(volume()[0, :9])},
        "slices": {"seeds_003.png": _png(marks()[3])},
        "frames": {f"frame{i}.png": _png(_photo(i)) for i in range(4)},
        "frame strokes": {"frame0.png": _png(marks()[3]), "frame2.png": _png(marks()[3])},
        "clip strokes": {"0000.png": _png(_clip_strokes()), "0003.png": _png(red)},
        "late strokes": {"0099.png": _png(_clip_strokes())},
        "nameless strokes": {"strokes.png": _png(_clip_strokes())},
        "strange": {name: _png(_photo()) for name in STRANGE_NAMES},
        "mixed": {
            "head.nii.gz": written()["head.nii.gz"],
            "photo.png": _png(_photo()),
            "float.tif": tiff(volume() / 3),
        },
    }


def _photo(shift: int = 0) -> np.ndarray:
    from tests.apps.hostile_files import _photo as photo

    return photo(shift)


def _png(array, **how) -> bytes:
    file = BytesIO()
    Image.fromarray(array).save(file, "PNG", **how)
    return file.getvalue()


def _clip_strokes() -> np.ndarray:
    strokes = np.zeros((CLIP_SIDE, CLIP_SIDE), np.uint8)
    strokes[28:36, 26:38] = 1
    strokes[2:6, 2:60] = 2
    return strokes


def _volumes() -> dict[str, bytes]:
    import nibabel

    from tests.apps.volumes.conftest import write_ome_tiff, write_volume

    def nifti(array) -> bytes:
        return nibabel.Nifti1Image(array, np.diag([0.7, 0.8, 2.0, 1])).to_bytes()

    def itk(name, array) -> bytes:
        with tempfile.TemporaryDirectory() as top:
            return write_volume(Path(top) / name, array).read_bytes()

    def ome_tiff() -> bytes:
        with tempfile.TemporaryDirectory() as top:
            return write_ome_tiff(Path(top) / "a.ome.tif", volume()).read_bytes()

    def npy(array) -> bytes:
        file = BytesIO()
        np.save(file, array)
        return file.getvalue()

    values, seeds = volume(), marks()
    plain = nifti(values.T)
    raw = values.tobytes()
    sizes = f"{SIDE} {SIDE} {DEPTH}"
    ball = (values > 120).astype(np.uint8)
    several = np.uint16(seeds.astype(int) * 300 + 5 * (seeds == 2))
    return {
        "head.nii.gz": gzip.compress(plain),
        "plain.nii": plain,
        "mri.nrrd": itk("a.nrrd", values),
        "ct.mha": itk("a.mha", values.astype(np.int16) * 8 - 1000),
        "meta.mhd": META.format(sizes, "meta.raw").encode(),
        "meta.raw": raw,
        "image.ome.tif": ome_tiff(),
        "seeds.nii.gz": gzip.compress(nifti(seeds.T)),
        "seeds.nrrd": NRRD.format("uint8", sizes, "").encode() + seeds.tobytes(),
        "seeds.npy": npy(seeds),
        "many.nii.gz": gzip.compress(nifti(several.T)),
        "start.nii.gz": gzip.compress(nifti(ball.T)),
        "start.npy": npy(ball),
        "turned.nii.gz": gzip.compress(nifti(seeds)),
        "cut.nii.gz": gzip.compress(plain)[:300],
        "empty.nii.gz": b"",
        "text.nrrd": b"not a volume",
        "huge.nrrd": NRRD.format("double", "100000 100000 100000", "").encode() + b"\0" * 64,
        "missing.nhdr": NRRD.format("uint8", sizes, "data file: nowhere.raw\n").encode(),
        "nan.mha": itk("a.mha", np.full(values.shape, np.nan, np.float32)),
        "flat.mha": itk("a.mha", np.full(values.shape, 7, np.int16)),
        "vector.nrrd": NRRD.replace("dimension: 3", "dimension: 4").format("uint8", f"3 {sizes}", "").encode()
        + raw * 3,
        "four.nii": nifti(np.stack([values, values], -1)),
        "text.dcm": b"not a slice",
    }


def _images() -> dict[str, bytes]:
    import tifffile

    photo = _photo()
    upright = Image.fromarray(photo)
    exif = upright.getexif()
    exif[0x0112] = 6

    def saved(image, kind, **how) -> bytes:
        file = BytesIO()
        image.save(file, kind, **how)
        return file.getvalue()

    def tiff(array, **how) -> bytes:
        file = BytesIO()
        tifffile.imwrite(file, array, **{"photometric": "rgb" if array.ndim == 3 else "minisblack", **how})
        return file.getvalue()

    deep = cv2.imencode(".png", photo.astype(np.uint16) * 257)[1].tobytes()
    y, x = np.mgrid[:60, :80]
    page = np.where((y // 4 % 2 == 0) & (x // 3 % 3 > 0) & (x > 8) & (y > 8), 40, 220 - x).astype(np.uint8)
    return {
        "cmyk.jpg": saved(upright.convert("CMYK"), "JPEG"),
        "rotated.jpg": saved(upright.crop((0, 0, 24, 18)), "JPEG", exif=exif),
        "profile.jpg": saved(upright, "JPEG", icc_profile=b"not a profile"),
        "grey alpha.png": saved(Image.fromarray(photo[..., 0]).convert("LA"), "PNG"),
        "one bit.png": saved(Image.fromarray(photo[..., 0] > 120), "PNG"),
        "transparent palette.png": saved(upright.quantize(8), "PNG", transparency=3),
        "deep.png": deep,
        "two.png": _png(photo[:2, :2]),
        "column.png": _png(photo[:, :1]),
        "float.tif": tiff(photo.astype(np.float32) / 255),
        "float far.tif": tiff(photo.astype(np.float32) * 1e30),
        "nan.tif": tiff(np.full((SIDE, SIDE), np.nan, np.float32)),
        "single.ome.tif": tiff(photo, photometric="rgb", ome=True),
        "planar.tif": tiff(np.moveaxis(photo, 2, 0), photometric="rgb", planarconfig="separate"),
        "signed.tif": tiff(photo[..., 0].astype(np.int16) - 100),
        "page.png": _png(page),
        "photo.webp": saved(upright, "WEBP"),
        "photo.pgm": b"P5\n24 24\n255\n" + photo[..., 0].tobytes(),
        "photo.bmp": saved(upright, "BMP"),
        "scene.png": _png(_texture(0)),
        "scene moved.png": _png(_texture(7)),
        "transparent strokes.png": _png(_coloured_strokes()),
        "0000.png": _png(_clip_strokes()),
        **{name: _png(photo) for name in STRANGE_NAMES},
    }  # fmt: skip


def _coloured_strokes() -> np.ndarray:
    strokes = marks()[3]
    colours = np.choose(strokes[..., None], ((0, 0, 0), (255, 0, 0), (0, 0, 255)))
    return np.dstack([colours, 255 * (strokes > 0)]).astype(np.uint8)


def _texture(shift: int) -> np.ndarray:
    wide = cv2.GaussianBlur(np.random.default_rng(1).uniform(0, 255, (120, 200)), (0, 0), 1.5)
    return np.uint8(255 * (wide - wide.min()) / np.ptp(wide))[:, shift : shift + 160]


def _clips() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "clip.mp4")
        writer = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"mp4v"), 10, (CLIP_SIDE, CLIP_SIDE))
        for i in range(5):
            writer.write(cv2.resize(_photo(i), (CLIP_SIDE, CLIP_SIDE)))
        writer.release()
        content = Path(path).read_bytes()
    return {"clip.mp4": content, "clip cut.mp4": content[: len(content) // 2], "empty.mp4": b"", "text.mp4": b"no clip"}


def _sessions() -> dict[str, bytes]:
    from apps.segmentation.hints import Hints, Instructions, ObjectOptions
    from apps.session.store import Store, stored_of
    from tests.apps.hostile_files import _strokes

    photo, mask = _photo(), _photo()[..., 0] > 120

    def session(rgb, change="") -> bytes:
        given = Instructions(Hints(np.choose(_strokes(), (-1, 1, 0)).astype(np.int8)), ObjectOptions())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s.sqlite"
            with Store(path, can_make=True) as store:
                store.begin("photo.png", rgb, mask.shape, stored_of(given, mask), "started")
            with contextlib.closing(sqlite3.connect(path)) as file:
                file.executescript(change)
            return path.read_bytes()

    good = session(photo)
    bomb = zlib.compress(bytes(10**8)).hex()
    return {
        "session.sqlite": good,
        "session cut.sqlite": good[: len(good) // 2],
        "session other.sqlite": session(255 - photo),
        "session version.sqlite": session(photo, f"PRAGMA user_version = {2**31 - 1}"),
        "session tables.sqlite": session(photo, "DROP TABLE records"),
        "session marks.sqlite": session(photo, "UPDATE records SET pixels = 'words'"),
        "session bomb.sqlite": session(photo, f"UPDATE records SET pixels = x'{bomb}'"),
        "session options.sqlite": session(
            photo, f"""UPDATE about SET value = '{{"keep": "x", "min_area": 1{"0" * 400}}}' WHERE key = 'options'"""
        ),
    }


def _matrices() -> dict[str, bytes]:
    numbers = "1. 0. 7. 0. 1. 0. 0. 0. 1."
    return {
        "homography.yaml": (
            "%YAML:1.0\n---\nH: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n"
            f"   data: [ {numbers.replace(' ', ', ')} ]\n"
        ).encode(),
        "homography.xml": (
            '<?xml version="1.0"?>\n<opencv_storage>\n<H type_id="opencv-matrix">\n  <rows>3</rows>\n  <cols>3</cols>\n'
            f"  <dt>d</dt>\n  <data>\n    {numbers}</data></H>\n</opencv_storage>\n"
        ).encode(),
        "words.xml": b"<html><body>no matrix</body></html>",
        "words.yaml": b"%YAML:1.0\n---\na: 1\n",
    }  # fmt: skip
