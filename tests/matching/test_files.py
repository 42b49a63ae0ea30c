"""Graphs from files: what the formats allow, and one clear error for everything else."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import matching

DENSE = np.array([[1.5, 0, 2], [0, 0, 0], [0, -3, 0], [4, 0, 0]])
GENERAL = "%%MatrixMarket matrix coordinate real general\n"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def saved(tmp_path):
    """One matrix, as a file of each kind."""
    matrix = scipy.sparse.csr_array(DENSE)
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix)
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    return tmp_path


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "a.npz"])
def test_every_kind_of_file(saved, name):
    graph = matching.read_graph(saved / name)
    assert graph.format == "csr"
    assert graph.has_canonical_format
    np.testing.assert_array_equal(graph.toarray(), DENSE)
    assert matching.maximum(graph).cardinality == 3
    upper = (saved / name).rename(saved / name.upper())
    assert matching.read_graph(str(upper)).nnz == 4


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_every_form_that_scipy_saves(tmp_path, form):
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_matrix(DENSE).asformat(form))
    np.testing.assert_array_equal(matching.read_graph(tmp_path / "a.npz").toarray(), DENSE)


def test_patterns_and_symmetric_files(write):
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n% a path\n\n3 3 3\n1 1\n2 1\n3 2\n"
    np.testing.assert_array_equal(
        matching.read_graph(write("a.mtx", text)).toarray(), [[1, 1, 0], [1, 0, 1], [0, 1, 0]]
    )
    text = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 0 1\n"
    assert matching.maximum(matching.read_graph(write("b.mtx", text))).cardinality == 2


def test_zeros_and_what_adds_up_to_zero_stay_edges(write):
    graph = matching.read_graph(write("a.mtx", GENERAL + "2 2 3\n1 1 1\n1 1 -1\n2 2 0\n"))
    assert graph.nnz == 2
    assert matching.maximum(graph).cardinality == 2


def test_no_entries(write):
    assert matching.read_graph(write("a.mtx", GENERAL + "3 2 0\n")).shape == (3, 2)


BROKEN = {
    "words.mtx": ("a b c\n", "does not begin with %%MatrixMarket"),
    "empty.mtx": ("", "does not begin"),
    "half.mtx": (GENERAL + "2 2 2\n1 1 1\n", "no complete MatrixMarket file: Truncated"),
    "head.mtx": (GENERAL, "no complete MatrixMarket file"),
    "dense.mtx": (
        "%%MatrixMarket matrix array real general\n1 1\n1.0\n",
        "a dense matrix; write it in coordinate form",
    ),
    "row.mtx": (GENERAL + "2 2 1\n3 1 1\n", "out of bounds"),
    "zeroth.mtx": (GENERAL + "2 2 1\n0 1 1\n", "out of bounds"),
    "letters.mtx": (GENERAL + "2 2 1\n1 x 1\n", "no complete MatrixMarket file"),
    "huge.mtx": ("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 " + "9" * 30 + "\n", "out of range"),
    "plain.mtx.gz": (GENERAL, "no complete MatrixMarket file: Not a gzipped file"),
    "half.mtx.gz": (gzip.compress(GENERAL.encode() + b"1 1 1\n1 1 1\n")[:-12], "ended before the end"),
    "words.npz": ("a b c", "no complete sparse matrix as scipy.sparse.save_npz writes it: it is no archive"),
    "empty.npz": ("", "it is no archive"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(write, name):
    content, message = BROKEN[name]
    with pytest.raises(ValueError, match=message) as raised:
        matching.read_graph(write(name, content))
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


def test_archives_of_something_else(tmp_path, saved):
    path = tmp_path / "b.npz"
    whole = (saved / "a.npz").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="it is no archive, or not all of one"):
        matching.read_graph(path)
    np.savez(path, x=np.ones(3))
    with pytest.raises(ValueError, match="does not contain a sparse"):
        matching.read_graph(path)
    parts = {"format": np.array(b"csr"), "shape": [2, 2], "data": [1.0], "indptr": [0, 1, 1]}
    np.savez(path, **parts, indices=[7])
    with pytest.raises(ValueError, match="no complete sparse matrix"):
        matching.read_graph(path)
    np.savez(path, **parts, indices=np.array([None], object))
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        matching.read_graph(path)


def test_names_and_missing_files(tmp_path):
    for name in ("a.npy", "a.txt", "a.gz", "mtx"):
        with pytest.raises(ValueError, match=r"name it \.mtx, \.mtx\.gz or \.npz"):
            matching.read_graph(tmp_path / name)
    for name in ("gone.mtx", "gone.mtx.gz", "gone.npz"):
        with pytest.raises(FileNotFoundError, match=name):
            matching.read_graph(tmp_path / name)
