"""Damaged files of the formats that this program parses itself: a result or InputError, in one line.

Each case is a sound file, mutated by a generator with a seed.
"""

from pathlib import Path

import numpy as np
import pytest

from apps.common.images import InputError
from apps.point_matching.match_command import _read_truth as read_matrix
from apps.segmentation.box_files import read_boxes
from apps.stereo_matching.disparity_files import read_disparity
from apps.tracking.track_files import read_detections

TABLE = b"frame,x,y,mass\n0,1.5,2,9\n0,4,5,8\n1,1.75,2.5,9\n2,-1e1,3,7\n"
BOXES = b'{"photo": [3, 3, 20, 20], "other": [1, 2, 3, 4]}'
COCO = (
    b'{"images": [{"id": 1, "file_name": "photo.jpg"}], "categories": [{"id": 2, "name": "cat"}], "annotations": '
    b'[{"image_id": 1, "category_id": 2, "bbox": [3, 4, 5.5, 6], "score": 0.5, "iscrowd": 0}]}'
)
MATRIX = b"1 0 2\n0 1 -3.5\n1e-4 0 1\n"


def boxes(path):
    return read_boxes(path, [Path("photo.png")], "--boxes")


SOUND = {  # name: a sound file, or a function of a folder that makes it, and its reader
    "a.pfm": (b"Pf\n9 6\n-1.0\n" + bytes(range(1, 217)), read_disparity),
    "points.csv": (TABLE, read_detections),
    "boxes.json": (BOXES, boxes),
    "coco.json": (COCO, boxes),
    "photo.txt": (b"0 0.5 0.5 0.25 0.5 0.9\n", boxes),
    "matrix.txt": (MATRIX, read_matrix),
}


def mutated(data: bytes, rng) -> bytes:
    """The data with one to four changes: a bit, bytes at random, and parts removed, doubled or moved."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at, other, length = (int(rng.integers(most + 1)) for most in (len(data), len(data), 16))
        # Headers decide more than pixels do.
        at = min(at, int(rng.integers(64))) if rng.random() < 0.5 else at
        part = data[at : at + length]
        change = rng.integers(6)
        if change == 0 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif change == 1:
            data[at : at + length] = rng.bytes(len(part))
        elif change == 2:
            del data[at:]
        elif change == 3:
            del data[at : at + length]
        elif change == 4:
            data[at:at] = part
        else:
            data[at : at + length] = data[other : other + length]
    return bytes(data)


@pytest.mark.filterwarnings("ignore")  # decoders warn of what they then refuse, and of more
@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", SOUND)
def test_damaged_files(name, count, tmp_path):
    (content, reader), path = SOUND[name], tmp_path / name
    content = content(tmp_path) if callable(content) else content
    path.write_bytes(content)
    reader(path)
    messages = []
    for seed in range(count):
        path.write_bytes(mutated(content, np.random.default_rng(seed)))
        try:
            reader(path)
        except InputError as error:
            messages.append(str(error))
    assert messages
    assert not [message for message in messages if "\n" in message]
