"""Hostile, damaged and unusual files: small, and written again for every command line.

`write(folder)` fills a folder; NAMES groups the names in it by what a command would take them for.
"""

import contextlib
import io
import json
import os
import sqlite3
import struct
import sys
import zlib
from functools import cache, partial
from pathlib import Path

import cv2
import numpy as np
import tifffile
from PIL import Image

SIDE = 24
STRANGE_NAMES = ('quote\'d "name".png', "line\nbreak.png", "percent %20#?.png", "комета 雪.png", "<b>&amp;.png")


def _photo(shift=0):
    rng = np.random.default_rng(5)
    y, x = np.mgrid[:SIDE, :SIDE]
    disc = (y - 12) ** 2 + (x - 12 - shift) ** 2 < 40
    colours = np.where(disc[..., None], (200, 120, 60), (40, 60, 90))
    return np.clip(colours + rng.normal(0, 10, (SIDE, SIDE, 3)), 0, 255).astype(np.uint8)


def _strokes():
    strokes = np.zeros((SIDE, SIDE), np.uint8)
    strokes[11:14, 9:15] = 1
    strokes[1:3, 1:22] = 2
    return strokes


def _png(width, height, depth=8, colour=2):
    """A PNG whose header announces this size."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"\0" * 64)
    chunks = [head, data, b"IEND"]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks
    )


def _content(write, *arguments, **how):
    """The bytes that a function writes to a file."""
    file = io.BytesIO()
    write(file, *arguments, **how)
    return file.getvalue()


MATRIX = b"%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 1\n1 2\n2 1\n3 3\n"


@cache
def _written() -> dict[str, bytes]:
    """Content of every regular file, by name."""

    def image(array, kind, **how):
        return _content(Image.fromarray(array).save, kind, **how)

    tiff, npy, npz = (partial(_content, write) for write in (tifffile.imwrite, np.save, np.savez))
    photo, strokes = _photo(), _strokes()
    labels = np.where(strokes == 1, 300, np.where(strokes == 2, 600, 0))
    files = {
        "photo.png": image(photo, "PNG"),
        "photo.jpg": image(photo, "JPEG"),
        "other.png": image(_photo(2), "PNG"),
        "grey.png": image(photo[..., 0], "PNG"),
        "one.png": image(photo[:1, :1], "PNG"),
        "line.png": image(photo[:1], "PNG"),
        "flat.png": image(np.full((SIDE, SIDE, 3), 90, np.uint8), "PNG"),
        "small.png": image(photo[:7, :9], "PNG"),
        "with space é.png": image(photo, "PNG"),
        "..png": image(photo, "PNG"),
        "-dash.png": image(photo, "PNG"),
        "strokes.png": image(strokes, "PNG"),
        "red only.png": image(np.where(strokes[..., None] == 1, (255, 0, 0), 0).astype(np.uint8), "PNG"),
        "empty strokes.png": image(np.zeros_like(strokes), "PNG"),
        "trimap.png": image(np.choose(strokes, (128, 255, 0)).astype(np.uint8), "PNG"),
        "truth.png": image(255 * (photo[..., 0] > 120).astype(np.uint8), "PNG"),
        "labels16.png": image(labels.astype(np.uint16), "PNG"),
        "uint32.tif": tiff(photo[..., 0].astype(np.uint32)),
        "white.tif": tiff(photo[..., 0].astype(np.uint16) * 200, photometric="miniswhite"),
        "volume.tif": tiff(np.stack([photo[..., 0]] * 4), photometric="minisblack"),
        "seeds.tif": tiff(np.stack([strokes] * 4), photometric="minisblack"),
        "four.tif": b"II*\0",
        "cut.png": image(photo, "PNG")[:200],
        "cut.jpg": image(photo, "JPEG")[:200],
        "cut.tif": tiff(photo)[:150],
        "empty.png": b"",
        "text.png": b"not an image at all",
        "huge.png": _png(60_000, 60_000),
        "bomb.png": _png(2**31 - 1, 2**31 - 1),
        "movie.gif": image(photo, "GIF", save_all=True, append_images=[Image.fromarray(_photo(i)) for i in (1, 2)]),
        "stack.npy": npy(np.stack([_photo(i)[..., 0] for i in range(3)])),
        "stack nan.npy": npy(np.full((3, SIDE, SIDE), np.nan)),
        "playlist.avi": b"ffconcat version 1.0\nfile 'clip.avi'\n",
        "text.avi": b"not a video",
        "boxes.json": json.dumps({"photo": [3, 3, 20, 20]}).encode(),
        "several boxes.json": b'{"photo": [[3, 3, 20, 20], [9, 1.5, 30, 14], [4, 4, 4, 9], [2, 2, 3, 3]]}',
        "null.json": b"null",
        "broken.json": b'{"a": ',
        "detections.csv": b"frame,x,y,name\n0,3,4,a\n0,9,9,b\n1,3.5,4,c\n1,9,9.5,d\n",
        "far.csv": b"frame,x,y\n0,1e300,4\n1,3,4\n",
        "nan.csv": b"frame,x,y\n0,nan,4\n1,inf,4\n",
        "wide.csv": b"frame,x,y,t\n0,1,2," + b"a" * 140_000 + b"\n",
        "empty.csv": b"",
        "flow.flo": struct.pack("<fii", 202021.25, SIDE, SIDE) + np.zeros((SIDE, SIDE, 2), "<f4").tobytes(),
        "size.flo": struct.pack("<fii", 202021.25, 2**30, 2**30),
        "scale.pfm": b"Pf\n3 3\n--\n" + b"\0" * 36,
        "homography.txt": b"1 0 0\n0 1 0\n0 0 1\n",
        "graph.mtx": MATRIX,
        "west.0479.mtx": MATRIX,
        "west.0480.mtx": MATRIX,
        "columns.mtx": MATRIX.replace(b"3 3 4", b"3 1000000000000 4"),
        "empty.mtx": b"",
        "graph.npz": npz(
            indptr=np.array([0, 2, 3]), indices=np.array([0, 1, 0]), shape=np.array([2, 2]),
            data=np.ones(3), format=np.array(b"csr"),
        ),
        "other.npz": npz(a=np.ones(3)),
        ".hidden.png": image(photo, "PNG"),
        **{name: image(photo, "PNG") for name in STRANGE_NAMES},
    }  # fmt: skip
    return files | _videos() | _volumes()


def _videos() -> dict[str, bytes]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "clip.avi")
        writer = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"MJPG"), 10, (64, 64))
        for i in range(6):
            writer.write(cv2.resize(_photo(i), (64, 64)))
        writer.release()
        content = Path(path).read_bytes()
    return {"clip.avi": content, "clip cut.avi": content[: len(content) // 2]}


def _volumes() -> dict[str, bytes]:
    import nibabel

    marks = np.stack([_strokes()] * 4)
    volumes = {"head": np.stack([_photo(i)[..., 0] for i in range(4)]), "seeds": marks}
    return {f"{name}.nii": nibabel.Nifti1Image(values.T, np.eye(4)).to_bytes() for name, values in volumes.items()}


FOLDERS = {
    "photos": ("photo.png", "grey.png", "four.tif", "cut.jpg"),
    "good": ("photo.png", "other.png"),
    "same": ("photo.png", "photo.jpg"),
    "strange names": STRANGE_NAMES,
    "none": (),
}
BROKEN_LINKS = {"dangling.png": "nowhere.png", "loop.png": "loop.png"}
MISSING = ("missing.png", "n" * 300 + ".png", "a\nb.png", "http://localhost:1/photo.png", "")


def write(folder: Path) -> None:
    """Fill a folder with all files, folders, links and, if the system permits it, a pipe and a device."""
    files = _written()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for name, names in FOLDERS.items():
        (folder / name).mkdir()
        for inner in names:
            (folder / name / inner).write_bytes(files[inner])
    for name, target in BROKEN_LINKS.items():
        (folder / name).symlink_to(target)
    (folder / "linked.png").symlink_to("photo.png")
    if sys.platform == "linux":
        os.mkfifo(folder / "pipe.png")
        os.mkfifo(folder / "pipe.dcm")
        (folder / "zero.link.png").symlink_to("/dev/zero")
        raw = os.fsencode(folder) + b"/latin\xe9.png"
        Path(os.fsdecode(raw)).write_bytes(files["photo.png"])


def names(*endings: str) -> list[str]:
    """Names of regular files with these endings, in a fixed order."""
    return sorted(name for name in _written() if name.endswith(endings))


def snapshot(folder: Path) -> dict[str, object]:
    """State of a folder: contents of files, targets of links, kinds of other entries."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = oct(path.stat().st_mode)
    return found


def is_readable(path: Path) -> str | None:
    """Why a result does not match its name; None if it does."""
    kind = path.suffix.lower()
    try:
        if kind in (".json", ".geojson"):
            json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda word: 1 / 0)
        elif kind in (".png", ".jpg", ".tif", ".tiff", ".gif"):
            with Image.open(path) as found:
                found.load()
        elif kind == ".sqlite":
            with contextlib.closing(sqlite3.connect(path)) as file:
                return None if file.execute("PRAGMA quick_check").fetchone() == ("ok",) else "damaged"
        elif kind in (".npy", ".npz"):
            np.load(path, allow_pickle=False)
        elif path.name.endswith((".nii.gz", ".nii", ".nrrd", ".mha")):
            import SimpleITK

            SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path)))
        elif kind in (".avi", ".mp4"):
            if not cv2.VideoCapture(str(path)).read()[0]:
                return "no frame can be read"
        elif path.stat().st_size == 0:
            return "empty"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
