"""Tables of points, matches, boxes and numbers that are unusual, broken or absurd: read correctly, or rejected."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from apps import matching
from apps.common.images import InputError
from apps.motion.matches import COLUMNS, Matches
from apps.optical_flow import flow_command as flow
from apps.point_matching import match_command as match
from apps.segmentation import segment_command as segment
from apps.segmentation.box_files import boxes_of, read_boxes
from apps.tracking import track_command as track
from apps.tracking.track_files import read_detections, write_tracks
from apps.tracking.tracking import Detections
from apps.tracking.tracking import track as link

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
    "x far away": (TABLE.replace("0,20,", "0,1e300,"), r"line 4 .*: x is 1e300, above the maximum of 1e\+12"),
    "y infinite": (TABLE.replace("0,20,14", "0,20,inf"), "line 4 .*y is 'inf', expected a finite number"),
    "a frame far away": (TABLE + "1e20,1,2\n", "line 14 .*: frame is 1e20, above the maximum of 9007199254740992"),
    "half a frame": (TABLE.replace("0,20,", "0.5,20,"), "line 4 .*: frame is 0.5, expected an integer"),
    "both": (TABLE.replace("0,20,", "0.5,20,") + "1e20,1,2\n", "line 4 .*: frame is 0.5"),
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


@pytest.mark.parametrize(
    "options", [["--search-range", "1e300"], ["--search-range", "1e160"], ["--search-range", "nan"]]
)
def test_reach_beyond_all_bounds(tmp_path, options, capsys):
    assert track.main([str(saved(tmp_path, TABLE)), *options, "--out", str(tmp_path / "out")]) == 2
    assert "--search-range must be" in capsys.readouterr().err


def test_a_small_unit_of_length_is_not_rounded_to_nothing(tmp_path):
    text = "frame,x,y\n" + "".join(f"{t},{x * 1e-9},{y * 1e-9}\n" for t, x, y in POINTS)
    arguments = ["--search-range", "3e-9", "--out", str(tmp_path), "--json", str(tmp_path / "r.json"), "--quiet"]
    assert track.main([str(saved(tmp_path, text)), *arguments]) == 0
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["tracks"] == 4


def test_infinite_columns_are_null_in_json(tmp_path):
    extra = {"w": np.array([np.inf, 1.0, -np.inf, np.nan])}
    detections = Detections(np.array([0, 0, 1, 1]), np.array([[0.0, 0], [9, 9], [0, 1], [9, 8]]), extra)
    path = write_tracks(tmp_path / "t.json", link(detections, search_range=3))
    table = json.loads(path.read_text("utf-8"), parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert table["w"] == [None, None, 1.0, None]


HEADER = ",".join(COLUMNS)
BAD_MATCHES = {
    "nothing": ("m.csv", "", "is empty; pass a complete file"),
    "another header": ("m.csv", "a,b\n1,2\n", "another header"),
    "not text": ("m.csv", b"\xff\xfe\x00", "cannot read"),
    "a row short": ("m.csv", f"{HEADER}\n1,2,3\n", "cannot read"),
    "infinite": ("m.csv", f"{HEADER}\n1,2,3,4,inf,6,1\n", "NaN or infinity"),
    "confidence": ("m.csv", f"{HEADER}\n1,2,3,4,5,6,7\n", "confidences outside 0 to 1"),
    "huge integers": ("m.json", json.dumps({name: [10**400] for name in COLUMNS}), "too large"),
    "overflowing": ("m.json", '{"x0": 1e999}', "cannot read"),
    "deep": ("m.json", "[" * 100_000, "cannot read"),
    "a list": ("m.json", "[]", "cannot read"),
    "null": ("m.json", "null", "cannot read"),
    "ragged": ("m.json", json.dumps({name: [1] * i for i, name in enumerate(COLUMNS)}), "cannot read"),
    "missing": ("m.json", '{"x0": [1]}', "cannot read"),
}


@pytest.mark.parametrize("kind", BAD_MATCHES)
def test_tables_of_matches(tmp_path, kind):
    name, text, message = BAD_MATCHES[kind]
    with pytest.raises(InputError, match=message) as caught:
        Matches.read(saved(tmp_path, text, name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["1e300", "1e30", "-5000"])
def test_matches_far_outside_the_frames(tmp_path, value, capsys):
    frame = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    for name in "ab":
        Image.fromarray(frame).save(tmp_path / f"{name}.png")
    table = saved(tmp_path, f"{HEADER}\n" + "".join(f"{value},{i},{i},{i},1,1,1\n" for i in range(30)), "m.csv")
    arguments = [str(tmp_path / "a.png"), str(tmp_path / "b.png"), "--matches", str(table)]
    assert flow.main([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert "too far outside its 50x40 pixels" in capsys.readouterr().err


BAD_BOXES = ['"1259"', "null", "[1, 2, 3]", "[1, 2, Infinity, 4]", "[1, 2, 1e400, 4]", "[1, 2, NaN, 4]", "{}", "7"]
BAD_BOXES += ["[1, 2, true, 4]", '[1, 2, "3", 4]', "[[1], 2, 3, 4]", "[1, 2, 3, 4, 5]"]


@pytest.mark.parametrize("box", BAD_BOXES)
def test_one_bad_box_is_one_bad_image(tmp_path, box):
    path = saved(tmp_path, f'{{"a": {box}, "b": [1, 2, 30, 40]}}', "boxes.json")
    a, b = Path("a.png"), Path("b.png")
    found = read_boxes(path, [a, b], "--boxes")
    assert boxes_of(found, b)[0].corners == (1, 2, 30, 40)
    with pytest.raises(InputError, match=r"--boxes: .*boxes.json': entry 'a' must be four numbers .*got "):
        boxes_of(found, a)


def test_a_bad_box_does_not_stop_a_batch(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    photo = np.full((24, 24, 3), 40, np.uint8)
    photo[8:16, 8:16] = 200
    for name in "ab":
        Image.fromarray(photo).save(tmp_path / "in" / f"{name}.png")
    boxes = saved(tmp_path, '{"a": [1, 2, 1e400, 4], "b": [5, 5, 19, 19]}', "boxes.json")
    arguments = ["--box", str(boxes), "--out", str(tmp_path / "out"), "--threads", "1"]
    assert segment.main([str(tmp_path / "in"), *arguments]) == 1
    assert "1 done, 1 failed" in capsys.readouterr().out


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two images, the second moved by 3 pixels."""
    folder = tmp_path_factory.mktemp("pair")
    wide = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (200, 260)), (0, 0), 1.5)
    wide = np.uint8(255 * (wide - wide.min()) / np.ptp(wide))
    for name, shift in (("a", 0), ("b", 3)):
        Image.fromarray(np.roll(wide, shift, axis=1)).save(folder / f"{name}.png")
    return folder


TRUTHS = {
    "right": ("1 0 3 0 1 0 0 0 1", 100, True),
    "right, scaled": ("1e308 0 3e308 0 1e308 0 0 0 1e308", None, None),  # 3e308 is infinite
    "right, times 1e307": ("1e307 0 3e307 0 1e307 0 0 0 1e307", 100, True),
    "far": ("1 0 1e6 0 1 0 0 0 1", 0, True),
    "corners behind the camera": ("1 0 3 0 1 0 -1 0 10", 0, False),
    "not to be inverted": ("1 0 3 0 1 0 1e308 0 1", None, None),
    "too far": ("1 0 1e308 0 1 0 0 0 1", None, None),
    "zeros": ("0 0 0 0 0 0 0 0 0", None, None),
    "eight": ("1 0 0 0 1 0 0 0", None, None),
}


@pytest.mark.parametrize("kind", TRUTHS)
def test_true_homographies_of_any_scale(pair, tmp_path, kind, capsys):
    text, right, finite = TRUTHS[kind]
    truth = saved(tmp_path, text, "h.txt")
    arguments = [str(pair / "a.png"), str(pair / "b.png"), "--truth", str(truth), "--model", "homography"]
    status = match.main([*arguments, "--out", str(tmp_path), "--json", str(tmp_path / "r.json")])
    assert status == (2 if right is None else 0)
    if right is None:
        assert "must contain the nine numbers of an invertible homography" in capsys.readouterr().err
        return
    report = (tmp_path / "r.json").read_text("utf-8")
    scores = json.loads(report, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))["truth"]
    assert abs(scores["right_percent"] - right) < 5
    assert (scores["corner_error"] is not None) == finite


@pytest.mark.parametrize("shape", ["2 1000000000000", "1000000000000 2", "2147483647 1", "1 2147483647"])
def test_matrices_too_large_to_count(tmp_path, shape, capsys, monkeypatch):
    path = saved(tmp_path, f"%%MatrixMarket matrix coordinate real general\n{shape} 1\n1 1 1\n", "a.mtx")
    import scipy.sparse

    import matching as library

    def read(path):  # the pointers of so many rows would fill the memory
        if shape.startswith("2 ") or shape.startswith("1 "):
            return scipy.sparse.csr_array(
                ([1.0], [0], [0, 1, 1, 1][: int(shape[0]) + 1]), tuple(map(int, shape.split()))
            )
        raise MemoryError

    monkeypatch.setattr(library, "read_graph", read)
    assert matching.main([str(path), "--out", str(tmp_path / "out")]) == 2
    assert "a.mtx' " in (line := capsys.readouterr().err)
    assert "at most 2147483646 of each are supported" in line or "more entries than fit into memory" in line
