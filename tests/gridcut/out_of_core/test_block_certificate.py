"""The certificate by strips detects every kind of corruption."""

import numpy as np
import pytest

from gridcut.device import CertificateError
from gridcut.out_of_core.block_relabel import Relabeling
from gridcut.out_of_core.region_distance import INFINITY


@pytest.fixture
def stored(problem, cut_in, tmp_path):
    source, sink, edges = problem
    return cut_in(6)(source, sink, edges, folder=tmp_path / "cut")


def changed_file(cut, kind, change):
    path = sorted(cut.folder.glob(f"*.{kind}"))[3]
    data = np.fromfile(path, np.int32 if kind == "state" else np.uint8)
    change(data)
    data.tofile(path)


def test_changed_residual_is_found(stored):
    changed_file(stored, "state", lambda data: data.__setitem__(-40, data[-40] + 1))
    with pytest.raises(CertificateError):
        stored.check()


def test_changed_label_is_found(problem, cut_in):
    source, sink, edges = problem
    labels = np.zeros(source.shape, bool)
    cut = cut_in(6)(source, sink, edges, labels=labels)
    labels[31, 7] ^= True
    with pytest.raises(CertificateError):
        cut.check()


def test_changed_capacities_are_found(stored, problem):
    problem[0][45, 3] += 1
    with pytest.raises(CertificateError, match=r"\(45, 3\)"):
        stored.check()


def test_unsupported_claims_are_found(cut_in, monkeypatch):
    """Cells that reach the sink across a boundary only, but claim distance 0: two of them could support each other."""
    sink = np.zeros((24, 3), np.int64)
    sink[-1] = 5
    cut = cut_in(6)(np.zeros_like(sink), sink, {(1, 0): np.int64(9)})
    run = Relabeling.run
    lowered = []

    def run_and_lie(relabeling):
        run(relabeling)
        for claims in (*relabeling._before.values(), *relabeling._after.values()):
            lies = (claims > 0) & (claims < INFINITY)
            lowered.append(lies.sum())
            claims[lies] = 0

    monkeypatch.setattr(Relabeling, "run", run_and_lie)
    with pytest.raises(CertificateError, match="claims a smaller distance"):
        cut.check()
    assert sum(lowered) > 0


def test_truncated_file_is_reported(stored):
    path = sorted(stored.folder.glob("*.state"))[2]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match="is truncated; delete its folder"):
        stored.check()
