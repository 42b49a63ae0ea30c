"""Data files of MetaImage and NRRD headers: which a header names, and which are refused."""

import os

import numpy as np
import pytest

from apps.common.errors import InputError
from apps.volumes.data_files import data_files_of
from apps.volumes.volume_files import read_volume

META = "ObjectType = Image\nNDims = 3\nDimSize = 4 3 2\nElementType = MET_UCHAR\nElementDataFile = {}\n"
NRRD = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 4 3 2\nencoding: raw\nendian: little\ndata file: {}\n"
FORMS = {"one": "0.raw", "list": "LIST 2\n0.raw\n1.raw", "series": "%d.raw 0 1 1"}
HEADERS = {"a.mhd": META, "a.nhdr": NRRD}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("form", FORMS)
def test_data_files_are_read_and_named(tmp_path, name, form):
    values = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    parts = [values] if form == "one" else values
    for number, part in enumerate(parts):
        (tmp_path / f"{number}.raw").write_bytes(part.tobytes())
    path = tmp_path / name
    path.write_text(HEADERS[name].format(FORMS[form]))
    assert data_files_of(path) == tuple(tmp_path / f"{number}.raw" for number in range(len(parts)))
    np.testing.assert_array_equal(read_volume(path).values, values)


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("form", FORMS)
def test_a_pipe_is_not_waited_for(tmp_path, name, form):
    os.mkfifo(tmp_path / "0.raw")
    path = tmp_path / name
    path.write_text(HEADERS[name].format(FORMS[form]))
    assert data_files_of(path) == ()
    with pytest.raises(InputError, match=r"cannot read .*its data file '0.raw' is a pipe or a device"):
        read_volume(path)


SERIES = ("%d %d 0 1 1", "%s.raw a b c", "%s.raw 0 1 1", "%n%n", "%d.raw 0 99999999 1", "%d.raw 0 9 0", "%d.raw 5 2 1")


@pytest.mark.parametrize("value", ["", "n" * 3000, "LIST", "%999999d.raw 0 1 1", "%d.raw 0 1", *SERIES])
@pytest.mark.parametrize("name", HEADERS)
def test_damaged_names(tmp_path, name, value):
    path = tmp_path / name
    path.write_text(HEADERS[name].format(value))
    assert data_files_of(path) == ()
    with pytest.raises(InputError, match="cannot read") as caught:
        read_volume(path)
    assert len(str(caught.value)) < 600 + len(str(path))


@pytest.mark.parametrize(
    "value", ["LIST\n0.raw", "%d.raw 0 0 1", "LIST\n0.raw\n1.raw\n0.raw", "LIST\n0.raw\nshort.raw"]
)
@pytest.mark.parametrize("name", HEADERS)
def test_a_missing_slice_is_not_empty(tmp_path, name, value, capfd):
    for number in range(2):
        (tmp_path / f"{number}.raw").write_bytes(bytes(12))
    (tmp_path / "short.raw").write_bytes(bytes(3))
    path = tmp_path / name
    path.write_text(HEADERS[name].format(value))
    with pytest.raises(InputError, match="cannot read"):
        read_volume(path)
    assert capfd.readouterr().err == ""


def test_a_header_without_a_size(tmp_path):
    (tmp_path / "0.raw").write_bytes(bytes(24))
    path = tmp_path / "a.mhd"
    path.write_text(META.format("LIST\n0.raw").replace("4 3 2", ""))
    with pytest.raises(InputError, match="no DimSize in its header"):
        read_volume(path)
