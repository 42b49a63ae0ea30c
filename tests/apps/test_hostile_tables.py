"""Tables of points, matches, boxes and numbers that are unusual, broken or absurd: read correctly, or rejected."""

import numpy as np
import pytest

from apps.common.images import InputError
from apps.tracking import track_command as track
from apps.tracking.track_files import read_detections

POINTS = [(t, 10 * i + t, 7 * i) for t in range(3) for i in range(4)]
TABLE = "frame,x,y\n" + "".join(f"{t},{x},{y}\n" for t, x, y in POINTS)


def saved(folder, text, name="d.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_delimiters_and_byte_order_marks(tmp_path, ends, delimiter, mark):
    text = mark + TABLE.replace(",", delimiter).replace("\n", ends)
    found = read_detections(saved(tmp_path, text))
    np.testing.assert_array_equal(np.column_stack([found.frame, found.position]), POINTS)


BAD_TABLES = {
    "nothing": (b"", "is empty; pass a complete file"),
    "only a byte order mark": ("\ufeff", "is empty; the first line must contain frame, x, y"),
    "only line ends": ("\r\r\n\n", "is empty; the first line must contain frame, x, y"),
    "a cell too long": ("frame,x,y\n0,1," + "2" * 200_000, "line 2 .*field larger than field limit"),
    "a byte of zero": (TABLE.replace("21", "2\0"), r"x is '2\\x00'"),
    "an open quote": (TABLE.replace("\n1,11", '\n1,"11'), "has 2 cells, not 3"),
    "one row short": (TABLE + "3,4\n", "line 14 .*has 2 cells, not 3"),
    "x far away": (TABLE.replace("0,20,", "0,1e300,"), r"line 4: x is '1e300', above the maximum of 1e\+12"),
    "y infinite": (TABLE.replace("0,20,14", "0,20,inf"), "line 4: y is 'inf', expected a finite number"),
    "a frame far away": (TABLE + "1e20,1,2\n", "line 14: frame is '1e20', above the maximum of 9007199254740992"),
    "half a frame": (TABLE.replace("0,20,", "0.5,20,"), "line 4: frame is '0.5', expected an integer"),
    "both": (TABLE.replace("0,20,", "0.5,20,") + "1e20,1,2\n", "line 4: frame is '0.5'"),
    "a column twice": (TABLE.replace("frame,x,y", "frame,x,X"), "has no column y"),
    "two columns x": ("frame,x,y,x\n0,1,2,3\n", "several columns called 'x'"),
    "another encoding": (TABLE.encode("utf-16"), "is not text"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_tables_of_detections(tmp_path, kind, capsys):
    text, message = BAD_TABLES[kind]
    path = saved(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        read_detections(path)
    assert "\n" not in str(caught.value)
    assert track.main([str(path), "--out", str(tmp_path / "out")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
