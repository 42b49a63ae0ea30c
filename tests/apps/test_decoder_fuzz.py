"""Damaged files of every kind through every reader: a result or InputError, nothing else, and no traceback.

Each case is a sound file, mutated by a generator whose seed is in the message of a failure.
"""

import io
import struct

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from apps.common.images import InputError, read_codes, read_image
from apps.common.sequences import open_sequence
from apps.optical_flow.flow_files import read_flow
from apps.regions.region_scores import read_segments
from apps.segmentation.strokes import read_labels, read_strokes, read_trimap
from apps.segmentation.volumes import read_label_volume
from apps.stereo_matching.disparity_files import read_disparity
from apps.volumes.volume_files import is_volume, read_volume
from tests.apps.flow_samples import write_flow

FRAMES = 8  # of a sequence, as many as are read

GREY = np.random.default_rng(0).integers(0, 4, (6, 9), dtype=np.uint8)
COLOUR = np.random.default_rng(1).integers(0, 256, (6, 9, 3), dtype=np.uint8)
STACK = np.random.default_rng(2).integers(0, 4, (3, 6, 9), dtype=np.uint8)


def with_pillow(pixels, kind, **options):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def animated(kind):
    buffer = io.BytesIO()
    frames = [Image.fromarray(60 * plane) for plane in STACK]
    frames[0].save(buffer, kind, save_all=True, append_images=frames[1:])
    return buffer.getvalue()


def as_tiff(pixels, **options):
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, pixels, **options)
    return buffer.getvalue()


def as_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def oriented():
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def video(folder):
    path = folder / "seed.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25.0, (32, 24))
    for t in range(3):
        writer.write(np.full((24, 32, 3), 70 * t, np.uint8))
    writer.release()
    return [path.read_bytes()]


def flows(folder):
    field = np.random.default_rng(3).uniform(-5, 5, (6, 9, 2))
    return [write_flow(folder / "seed.flo", field).read_bytes()]


def archives(folder):
    return [write_flow(folder / "seed.npz", np.ones((6, 9, 2))).read_bytes(), NO_ARCHIVE]


PICKLED = as_npy(np.array([{}], object))
NO_ARCHIVE = as_npy(np.ones((6, 9, 2), np.float32))
REFUSED = (PICKLED, NO_ARCHIVE)  # as they are, too


SOUND = {  # suffix: sound files, or a function of a folder that makes them
    "tif": [
        as_tiff(GREY),
        as_tiff(STACK, photometric="minisblack"),
        as_tiff(COLOUR, photometric="rgb", compression="zlib"),
        as_tiff(GREY.astype(np.float32)),
        as_tiff(GREY.astype(np.uint16) * 300, photometric="miniswhite"),
        as_tiff(STACK.astype(np.uint16), photometric="minisblack", bigtiff=True, byteorder=">"),
        with_pillow(GREY, "TIFF", compression="tiff_lzw"),
    ],
    "png": [
        with_pillow(GREY, "PNG"),
        with_pillow(COLOUR, "PNG", exif=oriented()),
        cv2.imencode(".png", COLOUR.astype(np.uint16) * 257)[1].tobytes(),
        cv2.imencode(".png", GREY.astype(np.uint16) * 300)[1].tobytes(),
        animated("PNG"),
    ],
    "jpg": [with_pillow(COLOUR, "JPEG", exif=oriented()), with_pillow(GREY, "JPEG", progressive=True)],
    "gif": [with_pillow(GREY, "GIF"), animated("GIF")],
    "webp": [with_pillow(COLOUR, "WEBP"), with_pillow(COLOUR, "WEBP", lossless=True), animated("WEBP")],
    "bmp": [with_pillow(COLOUR, "BMP"), with_pillow(GREY, "BMP")],
    "ppm": [with_pillow(COLOUR, "PPM"), with_pillow(GREY, "PPM"), b"P2\n3 2\n65535\n1 2 3 4 5 6\n"],
    "npy": [as_npy(STACK), as_npy(STACK.astype(float)), as_npy(GREY), PICKLED],
    "pfm": [b"Pf\n9 6\n-1.0\n" + bytes(216), b"Pf\n9 6\n1.0\n" + bytes(216)],
    "flo": flows,
    "npz": archives,
    "avi": video,
}


def frames_of(path):
    return [frame for _, frame in zip(range(FRAMES), open_sequence(path), strict=False)]


def volume_of(path):
    if is_volume(path, False):
        read_volume(path)


IMAGE_READERS = (read_image, read_codes, read_strokes, read_trimap, read_labels, read_segments, read_disparity)
READERS = {
    "tif": (*IMAGE_READERS, frames_of, volume_of, read_label_volume),
    "png": (*IMAGE_READERS, frames_of, read_flow),
    "npy": (frames_of, volume_of, read_label_volume, read_segments, read_disparity),
    "pfm": (read_disparity,),
    "flo": (read_flow,),
    "npz": (read_flow,),
    "avi": (frames_of,),
}
EXTREMES = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1)


def mutated(data: bytes, rng) -> bytes:
    """The data with one to four changes: bits, bytes, numbers, parts removed, doubled, moved, or zeroed."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 17))
        # Headers decide more than pixels do.
        at = min(at, int(rng.integers(64))) if rng.random() < 0.5 else at
        change = rng.integers(8)
        if change == 0 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif change == 1:
            data[at : at + length] = rng.bytes(min(length, max(0, len(data) - at)))
        elif change == 2:
            value = EXTREMES[int(rng.integers(len(EXTREMES)))]
            order, size = "<>"[int(rng.integers(2))], "BHI"[int(rng.integers(3))]
            number = struct.pack(order + size, value & ((1 << 8 * struct.calcsize(size)) - 1))
            data[at : at + len(number)] = number
        elif change == 3:
            del data[at:]
        elif change == 4:
            del data[at : at + length]
        elif change == 5:
            data[at:at] = data[at : at + length]
        elif change == 6:
            other = int(rng.integers(len(data) + 1))
            data[at : at + length] = data[other : other + length]
        else:
            data[at : at + length] = bytes(min(length, max(0, len(data) - at)))
    return bytes(data)


def check(kind: str, count: int, first_seed: int, folder) -> int:
    """Read `count` damaged files with every reader of their kind; number of rejected files."""
    sound = SOUND[kind](folder) if callable(SOUND[kind]) else SOUND[kind]
    rejected = 0
    path = folder / f"x.{kind}"
    for seed in range(first_seed, first_seed + count):
        rng = np.random.default_rng([seed, sum(kind.encode())])
        data = mutated(sound[seed % len(sound)], rng)
        path.write_bytes(data)
        for reader in READERS.get(kind, (*IMAGE_READERS, frames_of)):
            case, message = f"{kind}, seed {seed}, {reader.__name__}", ""
            try:
                reader(path)
            except InputError as error:
                rejected, message = rejected + 1, str(error)
            except Exception as error:
                raise AssertionError(f"{type(error).__name__} instead of InputError: {case}") from error
            assert "\n" not in message, f"several lines: {case}"
    return rejected


@pytest.mark.parametrize("kind", SOUND)
def test_valid_files_are_read_by_at_least_one_reader(kind, tmp_path):
    """So that the tests below do not pass because everything is rejected."""
    sound = SOUND[kind](tmp_path) if callable(SOUND[kind]) else SOUND[kind]
    for number, data in enumerate(sound):
        path = tmp_path / f"x{number}.{kind}"
        path.write_bytes(data)
        read = 0
        for reader in READERS.get(kind, (*IMAGE_READERS, frames_of)):
            try:
                reader(path)
                read += 1
            except InputError:
                pass
        assert bool(read) != (data in REFUSED), f"sound file {number}"


@pytest.mark.filterwarnings("ignore")  # decoders warn of what they then refuse, and of more
@pytest.mark.parametrize("kind", SOUND)
def test_damaged_files(kind, tmp_path):
    assert check(kind, 40, 0, tmp_path) > 0


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SOUND)
def test_many_damaged_files(kind, tmp_path):
    assert check(kind, 1500, 1000, tmp_path) > 0
