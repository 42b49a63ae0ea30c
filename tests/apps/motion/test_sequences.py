"""The same frames from every kind of container, and unusable containers."""

import io

import numpy as np
import pytest
from PIL import Image

from apps.common.images import InputError
from apps.common.sequences import open_sequence


@pytest.fixture
def frames():
    """Twelve smooth frames of bytes, 32 x 48, brighter from one to the next."""
    y, x = np.mgrid[:32, :48]
    return np.stack([np.uint8(40 + 10 * t + x + y) for t in range(12)])


def test_folder_is_sorted_by_numbers(frames, tmp_path):
    for t, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / f"frame{t}.png")  # frame10 after frame9, not after frame1
    (tmp_path / "notes.txt").write_text("not a frame")
    sequence = open_sequence(tmp_path)
    assert sequence.name == tmp_path.name
    assert (sequence.count, sequence.shape) == (12, (32, 48))
    for _ in range(2):  # again and again
        read = np.stack(list(sequence))
        assert read.shape == (12, 32, 48, 3)
        assert read.dtype == np.float32
        assert (np.rint(read[..., 0] * 255) == frames).all()


@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32", "int64", "bool", "colour"])
def test_stack(frames, tmp_path, kind):
    """Bytes and 16 bits by their type's range, floats in [0, 1] as they are, anything else by its extremes."""
    stack = {
        "uint8": frames,
        "uint16": frames.astype(np.uint16) * 257,
        "float32": (frames / 255).astype(np.float32),
        "int64": frames.astype(np.int64) * 1000 - 5,
        "bool": frames > 100,
        "colour": np.repeat(frames[..., None], 3, axis=3),
    }[kind]
    np.save(tmp_path / "s.npy", stack)
    sequence = open_sequence(tmp_path / "s.npy")
    read = np.stack(list(sequence))
    assert (sequence.name, sequence.count) == ("s", 12)
    low, high = int(frames.min()), int(frames.max())
    truth = {"bool": frames > 100, "int64": (frames - float(low)) / (high - low)}.get(kind, frames / 255)
    assert np.abs(read[..., 2] - truth).max() < 1e-6


@pytest.mark.parametrize("suffix", [".tif", ".gif"])
def test_pages(frames, tmp_path, suffix):
    pages = [Image.fromarray(frame) for frame in frames]
    pages[0].save(tmp_path / f"p{suffix}", save_all=True, append_images=pages[1:])
    sequence = open_sequence(tmp_path / f"p{suffix}")
    read = np.stack(list(sequence))
    assert sequence.count == 12
    assert (np.rint(read[..., 0] * 255) == frames).all()


def image(height=8):
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((height, 8), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def stack(values):
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue()


BAD = [  # name, content, of a folder by the names in it, and the message
    ("gone.avi", None, "no file or folder .*check the path"),
    ("v.avi", b"no video", "cannot read .* as a video"),
    ("v.mp4", b"", "cannot read .* as a video"),
    ("v.avi", b"RIFF\x00\x00\x00\x00AVI LIST" + bytes(64), "cannot read .* as a video"),
    ("one.png", image(), "is a single image; pass a video, a folder of frames or a stack"),
    ("s.npy", stack(np.zeros((4, 4))), r"has shape \(4, 4\); a stack is \(T, H, W\)"),
    ("s.npy", stack(np.zeros((1, 4, 4))), "contains one frame; two or more are needed"),
    ("s.npy", stack(np.array([{}, {}], dtype=object)), "cannot read .*pass a .npy file of numbers"),
    ("s.npy", stack(np.full((2, 4, 4), np.nan)), "contains NaN or infinity"),
    ("s.npy", b"\x93NUMPY rest", "cannot read .*pass a .npy file of numbers"),
    ("in", {}, "contains no frame; two or more are needed"),
    ("in", {"a.png": image()}, "contains one frame; two or more are needed"),
    ("in", {"a.png": image(), "b.png": image(9)}, "frame 1 is 8x9 pixels, but the first is 8x8"),
    ("in", {"a.png": image(), "b.png": image()[:40]}, "cannot read .*b.png"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_unusable_containers(name, content, message, tmp_path, capfd):
    path = tmp_path / name
    if isinstance(content, dict):
        path.mkdir()
        for inside, data in content.items():
            (path / inside).write_bytes(data)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        list(open_sequence(path))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == "", "decoders must not write to the terminal themselves"
