"""A run that an error ends at any line resumes from its folder, and leaves no temporary folder."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

import gridcut
from tests.faults import fails_at, first_and_last, lines_of


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files that Python closes
@pytest.mark.parametrize("kind", [np.uint8, pytest.param(np.float64, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "step", [25, pytest.param(5, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.thorough)]
)
def test_errors_at_lines(kind, step, cut_in, tools, tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    source, sink = rng.integers(0, 30, (2, 24, 7)).astype(kind)
    edges = {offset: rng.integers(0, 30, (24, 7)).astype(kind) for offset in ((0, 1), (1, 0))}
    expected = cut_in(4)(source, sink, edges)
    assert expected.value == tools.oracle(source, sink, edges)

    def run(folder):
        return gridcut.max_flow(source, sink, edges, method="out_of_core", folder=folder)

    ks = first_and_last(lines_of(lambda: run(tmp_path / "lines")))[::step]
    for k in ks:
        folder = tmp_path / str(k)
        fails_at(lambda: run(folder), k)  # noqa: B023
        cut = run(folder)
        cut.check()
        assert cut.value == expected.value
        assert np.array_equal(cut.labels, expected.labels)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for k in ks[::10]:
        fails_at(lambda: run(None), k)  # noqa: B023
    assert [path for path in Path(temporary).iterdir() if any(path.iterdir())] == []
