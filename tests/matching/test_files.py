"""Graphs from files: all variants of the formats, and one clear error for everything else."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import matching

DENSE = np.array([[1.5, 0, 2], [0, 0, 0], [0, -3, 0], [4, 0, 0]])
GENERAL = "%%MatrixMarket matrix coordinate real general\n"
PATTERN = "%%MatrixMarket matrix coordinate pattern general\n"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def saved(tmp_path):
    """One matrix in a file of each format."""
    matrix = scipy.sparse.csr_array(DENSE)
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix)
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    return tmp_path


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "a.npz"])
def test_file_formats(saved, name):
    graph = matching.read_graph(saved / name)
    assert graph.format == "csr"
    assert graph.has_canonical_format
    np.testing.assert_array_equal(graph.toarray(), DENSE)
    assert matching.maximum(graph).cardinality == 3
    upper = (saved / name).rename(saved / name.upper())
    assert matching.read_graph(str(upper)).nnz == 4


def test_patterns_and_symmetric_files(write):
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n% a path\n\n3 3 3\n1 1\n2 1\n3 2\n"
    np.testing.assert_array_equal(
        matching.read_graph(write("a.mtx", text)).toarray(), [[1, 1, 0], [1, 0, 1], [0, 1, 0]]
    )
    text = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 0 1\n"
    assert matching.maximum(matching.read_graph(write("b.mtx", text))).cardinality == 2


def test_stored_zeros_and_zero_sums_are_edges(write):
    graph = matching.read_graph(write("a.mtx", GENERAL + "2 2 3\n1 1 1\n1 1 -1\n2 2 0\n"))
    assert graph.nnz == 2
    assert matching.maximum(graph).cardinality == 2


BROKEN = {
    "words.mtx": ("a b c\n", "does not begin with %%MatrixMarket"),
    "empty.mtx": ("", "does not begin"),
    "half.mtx": (
        GENERAL + "2 2 2\n1 1 1\n",
        "not a complete MatrixMarket file: its header declares 2 entries, but it contains 1",
    ),
    "head.mtx": (GENERAL, "not a complete MatrixMarket file"),
    "dense.mtx": (
        "%%MatrixMarket matrix array real general\n1 1\n1.0\n",
        "a dense matrix; save a sparse matrix",
    ),
    "row.mtx": (GENERAL + "2 2 1\n3 1 1\n", "index 2 exceeds matrix dimension 2"),
    "zeroth.mtx": (GENERAL + "2 2 1\n0 1 1\n", "negative axis 0 index"),
    "letters.mtx": (GENERAL + "2 2 1\n1 x 1\n", "not a complete MatrixMarket file"),
    "more.mtx": (GENERAL + "1 1 1\n1 1 1 5\n", "not a complete MatrixMarket file"),
    "tail.mtx": (PATTERN + "1 1 1\n1 1 b", "not a complete MatrixMarket file"),
    "huge.mtx": (
        "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 " + "9" * 30 + "\n",
        "could not convert",
    ),
    "plain.mtx.gz": (GENERAL, "not a complete MatrixMarket file: Not a gzipped file"),
    "half.mtx.gz": (gzip.compress(GENERAL.encode() + b"1 1 1\n1 1 1\n")[:-12], "ended before the end"),
    "words.npz": (
        "a b c",
        "not a complete sparse matrix in the format of scipy.sparse.save_npz: it is not a complete zip archive",
    ),
    "empty.npz": ("", "it is not a complete zip archive"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(write, name):
    content, message = BROKEN[name]
    with pytest.raises(ValueError, match=message) as raised:
        matching.read_graph(write(name, content))
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


# Counts that exceed a file of this size, or the memory; SciPy's reader ends the process after its error.
HOSTILE = {
    "entries": (PATTERN + "2 2 99999999999\n1 1\n", "its header declares 99999999999 entries, but it contains 1"),
    "more entries": (
        PATTERN + "% a comment\n\n2 2 1000000000000000000\n1 1\n",
        "its header declares 1000000000000000000 entries",
    ),
    "columns": (PATTERN + "2 1000000000000 1\n1 1\n", "a graph has at most 2147483646 vertices per side"),
    "rows": (PATTERN + "1000000000000 2 1\n1 1\n", "a graph has at most 2147483646 vertices per side"),
    "vector": (
        "%%MatrixMarket vector coordinate real general\n2 1\n1 1\n",
        "line 1 must be '%%MatrixMarket matrix coordinate'",
    ),
    "negative": (PATTERN + "2 2 -1\n1 1\n", "must be a line with the numbers of rows, columns and entries"),
    "words": (PATTERN + "2 2 many\n1 1\n", "not a complete MatrixMarket file"),
    "digits": (PATTERN + "2 2 " + "9" * 5000 + "\n1 1\n", "not a complete MatrixMarket file"),
    "no size": (PATTERN + "%" + "x" * 200_000 + "\n", "not a complete MatrixMarket file"),
    "no end": (PATTERN + "2 2 2\n1 1\n", "its header declares 2 entries, but it contains 1"),
}
READ = """
import sys, matching
for path in sys.argv[1:]:
    try:
        matching.read_graph(path)
        print("read")
    except ValueError as error:
        print(error)
"""


@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz"])
def test_hostile_counts_do_not_end_the_process(write, suffix):
    names = list(HOSTILE)
    zipped = suffix.endswith("gz")
    paths = [
        write(f"{k}{suffix}", gzip.compress(HOSTILE[name][0].encode()) if zipped else HOSTILE[name][0])
        for k, name in enumerate(names)
    ]
    run = subprocess.run([sys.executable, "-c", READ, *map(str, paths)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    for name, path, line in zip(names, paths, run.stdout.splitlines(), strict=True):
        assert HOSTILE[name][1] in line, name
        assert path.name in line


def test_archives_with_invalid_indices(tmp_path):
    damaged, csr = "not a complete sparse matrix", {"indptr": [0, 1, 2], "indices": [0, 1]}
    for format, parts, message in (
        ("csr", {"indptr": [0, 9, 2], "indices": [0, 1]}, damaged),
        ("csc", {"indptr": [0, 1, 2], "indices": [0, 10**6]}, damaged),
        ("bsr", {"indptr": [0, 1, 2], "indices": [0, 10**6], "data": np.ones((2, 1, 1))}, damaged),
        ("coo", {"row": [0, 5], "col": [0, 1]}, damaged),
        ("csr", csr | {"data": np.array(["a", "b"])}, "its values must be numbers"),
        ("csr", csr | {"shape": (2, 10**12)}, "at most 2147483646 vertices per side"),
    ):
        np.savez(
            tmp_path / "a.npz", **{"format": np.array(format.encode()), "shape": [2, 2], "data": [1.0, 2.0]} | parts
        )
        with pytest.raises(ValueError, match=message) as raised:
            matching.read_graph(tmp_path / "a.npz")
        assert "\n" not in str(raised.value)


def test_unknown_suffixes_and_missing_files(tmp_path):
    for name in ("a.npy", "a.txt", "a.gz", "mtx"):
        with pytest.raises(ValueError, match=r"must end in \.mtx, \.mtx\.gz or \.npz"):
            matching.read_graph(tmp_path / name)
    for name in ("gone.mtx", "gone.mtx.gz", "gone.npz"):
        with pytest.raises(FileNotFoundError, match=name):
            matching.read_graph(tmp_path / name)
