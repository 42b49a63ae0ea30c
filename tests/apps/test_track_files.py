"""Tables of tracks: columns that were read keep their text, and numbers of our own keep all their digits."""

import numpy as np
import pandas
import pytest

from apps import cli
from apps.tracking.track_files import columns_of, read_detections
from apps.tracking.tracking import track

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


def tracked(table):
    out = table.parent / "out"
    assert cli.main(["track", str(table), "--search-range", "3", "--out", str(out), "--quiet"]) == 0
    return out / "points-tracks.csv"


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
