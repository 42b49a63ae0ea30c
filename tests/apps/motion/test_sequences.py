"""The same frames from every kind of container, and unusable containers."""

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


def make_bad(kind, folder):
    """A path that cannot be used."""
    path = folder / {"text video": "v.avi", "empty": "v.mp4", "truncated": "v.avi"}.get(kind, "in")
    if kind == "no file":
        return folder / "gone.avi"
    if kind == "text video":
        path.write_text("no video")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "truncated":
        path.write_bytes(b"RIFF\x00\x00\x00\x00AVI LIST" + bytes(64))
    elif kind == "image":
        path = folder / "one.png"
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(path)
    elif kind == "stack":
        path = folder / "s.npy"
        np.save(path, np.zeros((4, 4)))
    elif kind == "one frame stack":
        path = folder / "s.npy"
        np.save(path, np.zeros((1, 4, 4)))
    elif kind == "objects":
        path = folder / "s.npy"
        np.save(path, np.array([{}, {}], dtype=object), allow_pickle=True)
    elif kind == "nan":
        path = folder / "s.npy"
        np.save(path, np.full((2, 4, 4), np.nan))
    elif kind == "broken stack":
        path = folder / "s.npy"
        path.write_bytes(b"\x93NUMPY rest")
    else:
        path.mkdir()
        if kind != "empty folder":
            Image.fromarray(np.zeros((8, 8), np.uint8)).save(path / "a.png")
        if kind == "sizes":
            Image.fromarray(np.zeros((9, 8), np.uint8)).save(path / "b.png")
        if kind == "broken frame":
            (path / "b.png").write_bytes((path / "a.png").read_bytes()[:40])
    return path


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("no file", "no file or folder .*check the path"),
        ("text video", "cannot read .* as a video"),
        ("empty", "cannot read .* as a video"),
        ("truncated", "cannot read .* as a video"),
        ("image", "is a single image; pass a video, a folder of frames or a stack"),
        ("stack", r"has shape \(4, 4\); a stack is \(T, H, W\)"),
        ("one frame stack", "contains one frame; two or more are needed"),
        ("objects", "cannot read .*pass a .npy file of numbers"),
        ("nan", "contains NaN or infinity"),
        ("broken stack", "cannot read .*pass a .npy file of numbers"),
        ("empty folder", "contains no frame; two or more are needed"),
        ("one frame", "contains one frame; two or more are needed"),
        ("sizes", "frame 1 is 8x9 pixels, but the first is 8x8"),
        ("broken frame", "cannot read .*b.png"),
    ],
)
def test_unusable_containers(kind, message, tmp_path, capfd):
    path = make_bad(kind, tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        list(open_sequence(path))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == "", "decoders must not write to the terminal themselves"
