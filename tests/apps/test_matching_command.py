"""`cutmatch matching` on small matrices: its files, its output, and its messages for bad input."""

import csv
import gzip
import json
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from tests.apps.conftest import run_in

run = run_in("matching")

RANK = 45


@pytest.fixture
def files(tmp_path):
    """a.mtx, a.mtx.gz and a.npz, 60 x 50 and of structural rank RANK; words.mtx; dense.mtx."""
    rng = np.random.default_rng(0)
    row, col = np.r_[np.arange(RANK), rng.integers(0, 60, 30)], np.r_[np.arange(RANK), rng.integers(0, RANK, 30)]
    matrix = scipy.sparse.coo_array((np.ones(len(row)), (rng.permutation(60)[row], rng.permutation(50)[col])), (60, 50))
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix.tocsr())
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix.tocsr())
    (tmp_path / "words.mtx").write_text("no matrix")
    scipy.io.mmwrite(tmp_path / "dense.mtx", np.ones((2, 2)))
    return tmp_path


def assert_matching(dense, pairs):
    assert len(pairs) == len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1])) == RANK
    assert dense[tuple(pairs.T)].all()


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "a.npz"])
def test_pairs_as_csv(files, name, capsys):
    assert run(files, name) == 0
    assert sorted(p.name for p in (files / "out").glob("[!.]*")) == ["a-matching.json", "a-pairs.csv"]
    with open(files / "out" / "a-pairs.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    dense = scipy.sparse.load_npz(files / "a.npz").toarray()
    assert_matching(dense, np.array([[int(r["row"]), int(r["col"])] for r in rows]))
    out = capsys.readouterr().out
    assert re.search(r"60 x 50, \d+ entries, structural rank 45, certified, [0-9.]+ s -> ", out)
    assert out.count("\n") == 1


def test_blocks_table_and_report(files, capsys):
    how = ["--method", "hopcroft_karp", "--init", "none", "--threads", 1]
    assert run(files, "a.mtx", "--dulmage-mendelsohn", "--json", *how) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["structural_rank"] == RANK
    assert report["full_rank"] is False
    assert (report["method"], report["init"]) == ("hopcroft_karp", "none")
    assert sum(report["blocks"][part] for part in ("horizontal", "square", "vertical")) == report["blocks"]["number"]
    dense = scipy.sparse.load_npz(files / "a.npz").toarray()
    assert_matching(dense, np.loadtxt(files / "out" / "a-pairs.csv", int, delimiter=",", skiprows=1))
    names = sorted(p.name for p in (files / "out").glob("[!.]*"))
    assert names == ["a-blocks.npz", "a-matching.json", "a-pairs.csv"]
    blocks = np.load(files / "out" / "a-blocks.npz")
    ordered = dense[blocks["row_perm"]][:, blocks["col_perm"]]
    for row, col in zip(blocks["row_start"][1:-1], blocks["col_start"][1:-1], strict=True):
        assert not ordered[row:, :col].any()


def test_several_matrices(files, capsys):
    (files / "b.mtx").write_bytes((files / "a.mtx").read_bytes())
    assert run(files, "a.mtx", "b.mtx", "words.mtx") == 1
    captured = capsys.readouterr()
    assert "2 done, 1 failed" in captured.out
    assert (files / "out" / "a-pairs.csv").read_bytes() == (files / "out" / "b-pairs.csv").read_bytes()
