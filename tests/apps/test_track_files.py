"""Tables of tracks: columns that were read keep their text, and numbers of our own keep all their digits."""

import json

import numpy as np
import pandas
import pytest

from apps import cli
from apps.common.images import InputError
from apps.track.track_files import columns_of, read_detections, write_tracks
from apps.track.tracking import Detections, from_frames, track

EXTRA = {  # as text: a fraction with small exponent, long integers, integers, zeros that matter, text
    "weight": ["1.23456789e-6", "2.5", "0.10", "-3"],
    "cell": ["987654321012345", "987654321012346", "987654321012347", "987654321012348"],
    "count": ["34", "35", "36", "37"],
    "code": ["007", "0042", "1e3", "+5"],
    "huge": ["123456789012345678901234567890", "1", "2", "3"],
    "label": ["red", 'a "quoted", cell', "", " padded "],
    "part": ["1_000", "1_001", "2_000", "2_001"],
    "mixed": ["1", "n/a", "nan", "inf"],
}
X = ["10.123456789012345", "10.5", "11", "1.15e1"]


@pytest.fixture
def table(tmp_path):
    """One particle in four frames, with all columns of EXTRA."""
    columns = {"frame": ["0", "1", "2", "3"], "x": X, "y": ["5", "5.25", "5.5", "5.75"]} | EXTRA
    path = tmp_path / "points.csv"
    pandas.DataFrame(columns, dtype=str).to_csv(path, index=False)
    return path


def tracked(table, suffix=".csv"):
    out = table.with_name(f"tracks{suffix}")
    line = ["track", str(table), "--search-range", "3", "--table", str(out), "--out", str(table.parent / "out")]
    assert cli.main([*line, "--overwrite", "--quiet"]) == 0
    return out


def test_columns_keep_their_text(table):
    read = pandas.read_csv(tracked(table), dtype=str, keep_default_na=False)
    assert list(read) == ["track", "frame", "x", "y", *EXTRA, "link_margin"]
    for name, texts in EXTRA.items():
        assert read[name].tolist() == texts
    assert read["frame"].tolist() == ["0", "1", "2", "3"]
    assert read["track"].tolist() == ["0"] * 4


def test_numbers_keep_all_digits(table):
    read = pandas.read_csv(tracked(table), engine="python")
    assert read["x"].tolist() == [float(text) for text in X]
    assert read["cell"].dtype == read["count"].dtype == np.int64
    assert read["cell"].tolist() == [987654321012345 + k for k in range(4)]
    assert read["weight"][0] == 1.23456789e-6
    found = read_detections(table)
    margin = columns_of(track(found, search_range=3.0))["link_margin"]
    np.testing.assert_array_equal(read["link_margin"], margin)
    assert read["link_margin"].isna().tolist() == [True, False, False, False]


def test_a_table_of_tracks_is_read_again_without_loss(table):
    once = tracked(table)
    again = table.with_name("again.csv")
    write_tracks(again, track(read_detections(once), search_range=3.0))
    assert again.read_bytes() == once.read_bytes()


def test_json_and_npz_have_numbers(table):
    content = json.loads(tracked(table, ".json").read_text("utf-8"))
    assert content["weight"] == [1.23456789e-6, 2.5, 0.1, -3.0]
    assert content["cell"] == [987654321012345 + k for k in range(4)]
    assert all(isinstance(value, int) for value in content["count"])
    assert content["label"] == EXTRA["label"]
    assert content["part"] == EXTRA["part"]
    assert content["mixed"] == EXTRA["mixed"]
    assert content["huge"] == [float(text) for text in EXTRA["huge"]], "more digits than 64 bits have"
    with np.load(tracked(table, ".npz")) as arrays:
        assert arrays["cell"].dtype == np.int64
        assert arrays["weight"].dtype == np.float64
        assert arrays["label"].tolist() == EXTRA["label"]


def test_motchallenge(table):
    rows = [line.split(",") for line in tracked(table, ".txt").read_text("utf-8").splitlines()]
    assert rows[1] == ["2", "1", "10.5", "5.25", "0", "0", "1", "10.5", "5.25", "-1"]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]


def test_columns_of_callers(tmp_path):
    extra = {
        "id": np.array([987654321012345, 7, 8, 9]),
        "mass": np.array([0.1, 1e-9, 1e20, np.nan]),
        "small": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
        "seen": np.array([True, False, True, True]),
    }
    found = Detections(np.arange(4), np.array([[0.1 + 0.2, 1.0]] * 4), extra)
    path = write_tracks(tmp_path / "t.csv", track(found, search_range=3.0))
    read = pandas.read_csv(path, engine="python")
    assert read["id"].tolist() == extra["id"].tolist()
    np.testing.assert_array_equal(read["mass"], extra["mass"])
    assert path.read_text("utf-8").splitlines()[1].split(",")[6] == "0.1", "float32 has fewer digits"
    assert read["x"].tolist() == [0.1 + 0.2] * 4
    assert read["seen"].tolist() == extra["seen"].tolist()


@pytest.fixture
def cells():
    """Tracks of a cell that divides, and of one that is seen once, with the quality of each detection."""
    position = [[(10, 5)], [(11, 5), (90, 90)], [(9, 3), (13, 7)], [(8, 2.5), (14, 8)]]
    found = from_frames([np.array(frame, float) for frame in position])
    found.extra["quality"] = np.arange(len(found)) / 4
    return track(found, search_range=6.0, divisions=0.2)


def test_cell_tracking_challenge(cells, tmp_path):
    """Label, first and last frame, and parent of each track, as the challenge's own tools read them."""
    rows = np.loadtxt(write_tracks(tmp_path / "res_track.txt", cells), int)
    assert rows.tolist() == [[1, 0, 1, 0], [2, 1, 1, 0], [3, 2, 3, 1], [4, 2, 3, 1]]


def test_cell_tracking_challenge_has_no_gaps(tmp_path):
    found = Detections(np.array([0, 2]), np.ones((2, 2)))
    with pytest.raises(InputError, match="track 0 has no detection in frame 1.*pass --memory 0"):
        write_tracks(tmp_path / "man_track.txt", track(found, search_range=3.0, memory=1))


def test_trackmate(cells, tmp_path):
    """Spots by frame, and one track per family, by pandas as by TrackMate's readers."""
    path = write_tracks(tmp_path / "tracks.xml", cells)
    spots = pandas.read_xml(path, xpath=".//Spot", parser="etree")
    table = columns_of(cells)
    for name, column in (("POSITION_X", "x"), ("POSITION_Y", "y"), ("FRAME", "frame"), ("QUALITY", "quality")):
        assert spots.sort_values("ID")[name].tolist() == table[column].tolist()
    edges = pandas.read_xml(path, xpath=".//Edge", parser="etree")
    ends = [tuple(zip(table["x"][k], table["frame"][k], strict=True)) for k in edges.to_numpy()[:, :2].astype(int).T]
    assert set(zip(*ends, strict=True)) == {
        ((10, 0), (11, 1)),
        ((11, 1), (9, 2)),
        ((11, 1), (13, 2)),
        ((9, 2), (8, 3)),
        ((13, 2), (14, 3)),
    }
    assert pandas.read_xml(path, xpath=".//AllTracks/Track", parser="etree")["TRACK_ID"].tolist() == [0]
    assert pandas.read_xml(path, xpath=".//TrackID", parser="etree")["TRACK_ID"].tolist() == [0]


def test_trackmate_is_read(cells, tmp_path):
    """The XML that is written here, and a table of spots with TrackMate's rows of names and units, of an image."""
    xml = read_detections(write_tracks(tmp_path / "tracks.xml", cells))
    table = columns_of(cells)
    order = np.argsort(table["frame"], kind="stable")
    np.testing.assert_array_equal(xml.frame, table["frame"][order])
    np.testing.assert_array_equal(xml.position, np.column_stack([table["x"], table["y"]])[order])
    assert xml.extra["quality"].astype(float).tolist() == table["quality"][order].tolist()
    path = tmp_path / "spots.csv"
    path.write_text(
        "LABEL,ID,QUALITY,POSITION_X,POSITION_Y,POSITION_Z,FRAME\n"
        "Label,Spot ID,Quality,X,Y,Z,Frame\nLabel,Spot ID,Quality,X,Y,Z,Frame\n,,(quality),(um),(um),(um),\n"
        "ID7,7,1.5,10.25,5.5,0.0,0\nID8,8,1.5,11.25,5.5,0.0,1\n",
        "utf-8",
    )
    spots = read_detections(path)
    assert spots.frame.tolist() == [0, 1]
    assert spots.position.tolist() == [[10.25, 5.5], [11.25, 5.5]]
    assert spots.extra["id"].tolist() == ["7", "8"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<TrackMate><Spot", "not an XML file of TrackMate: unclosed token"),
        ("<TrackMate />", "not an XML file of TrackMate: it has no Spot"),
        ('<TrackMate><Spot FRAME="0" POSITION_X="1" /></TrackMate>', "has no column x and no y"),
        ('<TrackMate><Spot FRAME="0" POSITION_X="a" POSITION_Y="1" /></TrackMate>', "spot 1 of .*: x is 'a', expected"),
        ('<TrackMate><Spot FRAME="b" POSITION_X="1" POSITION_Y="1" /></TrackMate>', "spot 1 of .*: frame is 'b'"),
    ],
)
def test_unusable_xml(text, message, tmp_path):
    path = tmp_path / "spots.xml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        read_detections(path)
