"""Damaged files, read in processes of their own: every prefix of a sound file, and every change of one byte.

A process reads many of them.  Its parent sees signals, hangs and memory, starts another process after the case, and
counts what the cases gave.  Cases are numbers, so a failure is repeated by `read(kind, folder, [number])`.
"""

import io
import json
import os
import resource
import signal
import struct
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import tifffile

from apps.common.images import InputError, read_codes, read_photograph
from apps.common.outputs import FOLDER
from apps.many.records import verified
from apps.many.records import write as write_record
from apps.many.task import Task
from apps.motion.matches import Matches
from apps.optical_flow.flow_files import read_flow
from apps.point_matching.match_command import _read_truth as read_matrix
from apps.segmentation.box_files import read_boxes
from apps.segmentation.volumes import read_label_volume
from apps.stereo_matching.disparity_files import read_disparity
from apps.tracking.track_files import read_detections
from apps.volumes.volume_files import is_volume, read_volume
from tests.apps.test_decoder_fuzz import SOUND, frames_of, volume_of
from tests.apps.volumes import conftest as volumes

ROOT = Path(__file__).resolve().parents[2]
MAX_SECONDS = 20  # for one case, on a busy machine
MAX_MEMORY = 1 << 20  # KiB that one case may add
VALUES: tuple[Callable[[int], int], ...] = (
    lambda byte: 0,
    lambda byte: 255,
    lambda byte: byte + 1 & 255,
    lambda byte: byte - 1 & 255,
    lambda byte: byte ^ 128,
    lambda byte: byte ^ 1,
    lambda byte: ord("9"),
)
BALL = (np.arange(4 * 5 * 6).reshape(4, 5, 6) % 7).astype(np.uint16)


class Sound(NamedTuple):
    """A sound file, what reads it, and what is read: the file itself or its folder."""

    file: Path
    readers: tuple
    given: Path


def _volume(path):
    read_volume(path)
    if path.is_file():
        is_volume(path)


def _all_rows(path):
    read_detections(path)


IMAGES = (read_photograph, read_codes, frames_of)
READERS = {
    "tif": (*IMAGES, volume_of, read_label_volume),
    "png": (*IMAGES, read_flow, read_disparity),
    "npy": (frames_of, volume_of, read_disparity),
    "pfm": (read_disparity,),
    "flo": (read_flow,),
    "npz": (read_flow,),
    "avi": (frames_of,),
}
TABLE = b"frame,x,y,mass\n0,1.5,2,9\n0,4,5,8\n1,1.75,2.5,9\n2,-1e1,3,7\n"
ROWS = b"x0,y0,x1,y1,cost,margin,confidence\n1,2,3,4,5,0.5,1\n5,6,7.5,8,0,1e-3,0\n"
COCO = (
    '{"images": [{"id": 1, "file_name": "photo.jpg"}], "categories": [{"id": 2, "name": "cat"}], "annotations": '
    '[{"image_id": 1, "category_id": 2, "bbox": [3, 4, 5.5, 6], "score": 0.5, "iscrowd": 0}]}'
)
MATRIX = "1 0 2\n0 1 -3.5\n1e-4 0 1\n"


def _write(folder, name, content):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def _of_decoders(kind, folder):
    contents = SOUND[kind](folder) if callable(SOUND[kind]) else SOUND[kind]
    for number, content in enumerate(contents):
        path = _write(folder / str(number), f"x.{kind}", content)
        yield Sound(path, READERS.get(kind, IMAGES), path)


def _packed_tiff(folder):
    for number, how in enumerate((
        {"compression": "zlib", "predictor": True}, {"compression": "zlib", "tile": (16, 16)}, {"rowsperstrip": 2},
        {"ome": True, "subifds": 1}, {"bigtiff": True, "compression": "zlib"},
    )):  # fmt: skip
        folder.mkdir(exist_ok=True)
        path = folder / f"{number}.tif"
        with tifffile.TiffWriter(path, bigtiff=how.pop("bigtiff", False), ome=how.pop("ome", False)) as file:
            file.write(BALL, photometric="minisblack", **how)
            if "subifds" in how:
                for plane in BALL:
                    file.write(plane[::2, ::2], subfiletype=1, photometric="minisblack")
        yield Sound(path, READERS["tif"], path)


def _pillow_tiff(folder):
    from PIL import Image

    for kind in ("tiff_lzw", "packbits", "tiff_adobe_deflate", "group4", "jpeg"):
        plane = (BALL[0] * 30).astype(np.uint8)
        image = Image.fromarray(plane > 90 if kind == "group4" else plane)
        buffer = io.BytesIO()
        image.save(buffer, "TIFF", compression=kind)
        path = _write(folder, f"{kind}.tif", buffer.getvalue())
        yield Sound(path, (*IMAGES, volume_of), path)


def _volumes(folder):
    folder.mkdir(exist_ok=True)
    for name in ("a.nii", "a.nii.gz", "a.ome.tif", "a.tif", "a.npy"):
        path = volumes.write_volume(folder / name, BALL)
        yield Sound(path, (_volume,), path)


def _boxes(path):
    return read_boxes(path, [Path("photo.png")], "--boxes")


def _texts(folder):
    rows = [dict(zip(("x0", "y0", "x1", "y1"), range(4), strict=True))] * 2
    for name, content, reader in (
        ("points.csv", TABLE, _all_rows),
        ("matches.csv", ROWS, Matches.read),
        ("matches.json", json.dumps(rows), Matches.read),
        ("boxes.json", '{"photo": [3, 3, 20, 20], "other": [1, 2, 3, 4]}', _boxes),
        ("coco.json", COCO, _boxes),
        ("photo.txt", "0 0.5 0.5 0.25 0.5 0.9\n", _boxes),
        ("matrix.txt", MATRIX, read_matrix),
    ):
        path = _write(folder, name, content)
        yield Sound(path, (reader,), path)
    for suffix in ("xml", "yaml"):
        path = folder / f"matrix.{suffix}"
        storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
        storage.write("H", np.array(MATRIX.split(), float).reshape(3, 3))
        storage.release()
        yield Sound(path, (read_matrix,), path)


def _records(folder):
    """A record of --resume, which is never refused: what is damaged counts as missing."""
    inner = folder / FOLDER / "copy"
    inner.mkdir(parents=True, exist_ok=True)
    known = {"input": "1", "options": "2", "program": "3"}
    _write(folder, "a.out", b"result")
    task = Task(0, "a", "a", "copy", sorted, folder, Namespace(out=str(folder), record=False), ())
    write_record(task, known, {"files": {"result": str(folder / "a.out")}, "nested": [{"files": {}}]})
    path = inner / "a.json"
    yield Sound(path, (lambda path: verified(task, known),), path)


def _video(folder):
    folder.mkdir(exist_ok=True)
    path = folder / "clip.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), 25.0, (32, 24))
    for t in range(3):
        writer.write(np.full((24, 32, 3), 70 * t, np.uint8))
    writer.release()
    yield Sound(path, (frames_of,), path)


KINDS = {
    **{kind: None for kind in SOUND},
    "packed tif": _packed_tiff,
    "pillow tif": _pillow_tiff,
    "volumes": _volumes,
    "texts": _texts,
    "records": _records,
    "mp4": _video,
}


def sound_files(kind: str, folder: Path) -> list[Sound]:
    """Write the sound files of a kind."""
    folder.mkdir(exist_ok=True)
    make = KINDS[kind]
    return list(_of_decoders(kind, folder) if make is None else make(folder / kind.replace(" ", "-")))


def number_of_cases(files: Iterable[Sound]) -> int:
    """Prefixes and changes of all files."""
    return sum(file.file.stat().st_size for file in files) * (1 + len(VALUES))


def damaged(contents: list[bytes], number: int) -> tuple[int, bytes]:
    """The file and its content in a case; files that are made again may be a few bytes shorter."""
    number %= sum(map(len, contents)) * (1 + len(VALUES))
    for which, content in enumerate(contents):
        if number < len(content) * (1 + len(VALUES)):
            at, change = divmod(number, 1 + len(VALUES))
            if change == 0:
                return which, content[:at]
            return which, content[:at] + bytes([VALUES[change - 1](content[at])]) + content[at + 1 :]
        number -= len(content) * (1 + len(VALUES))
    raise AssertionError("the remainder is below the number of cases")


def read(kind: str, folder: Path, numbers: list[int], at=None) -> tuple[Counter, list[str]]:
    """Read cases in this process; counts of results, and faults."""
    files = sound_files(kind, folder)
    contents = [file.file.read_bytes() for file in files]
    counts, faults = Counter(), []
    for number in numbers:
        if at is not None:
            os.pwrite(at, struct.pack("<q", number), 0)
            signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
        which, content = damaged(contents, number)
        files[which].file.write_bytes(content)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for reader in files[which].readers:
            try:
                reader(files[which].given)
                counts["read"] += 1
            except InputError as error:
                counts["refused"] += 1
                if "\n" in str(error):
                    faults.append(f"{number} {reader.__name__}: several lines")
            except Exception as error:
                faults.append(f"{number} {reader.__name__}: {type(error).__name__}: {error}")
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before + MAX_MEMORY:
            faults.append(f"{number}: more than a gigabyte")
        files[which].file.write_bytes(contents[which])
    return counts, faults


def battery(kind: str, folder: Path, numbers: list[int]) -> tuple[Counter, list[str]]:
    """Read cases in other processes; counts of results, and faults with their numbers."""
    total, faults, left = Counter(), [], list(numbers)
    folder.mkdir(exist_ok=True)
    while left:
        at = folder / "at"
        at.write_bytes(struct.pack("<q", -1))
        command = [sys.executable, "-W", "ignore", "-m", "tests.apps.one_byte_changes", kind, str(folder), str(at)]
        run = subprocess.run(
            command, input=json.dumps(left), capture_output=True, text=True, errors="replace", cwd=ROOT, check=False
        )
        if run.returncode == 0:
            counts, found = json.loads(run.stdout.rpartition("\n")[2])
            return total + Counter(counts), faults + found
        (number,) = struct.unpack("<q", at.read_bytes())
        if number < 0:
            raise RuntimeError(run.stderr[-2000:])
        why = "hang" if run.returncode == -signal.SIGALRM else f"exit status {run.returncode}"
        total[why] += 1
        faults.append(f"{number}: {why}: {run.stderr[-300:]}")
        left = left[left.index(number) + 1 :]
    return total, faults


if __name__ == "__main__":
    descriptor = os.open(sys.argv[3], os.O_RDWR)
    found_counts, found_faults = read(sys.argv[1], Path(sys.argv[2]) / "files", json.load(sys.stdin), descriptor)
    print("\n" + json.dumps([found_counts, found_faults]), end="")
