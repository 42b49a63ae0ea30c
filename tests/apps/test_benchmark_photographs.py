"""The benchmark of large photographs: a row needs equal files and a certified run."""

import numpy as np
import pytest

from benchmarks import photographs


@pytest.fixture
def commands(monkeypatch):
    """Stands in for the commands: each run writes one file, by default always the same."""
    seconds = iter([3.0, 1.0, 2.0, 9.0, 9.0])

    def run(program, folder, *how):
        run.calls.append((program, *how))
        (folder / program).mkdir(exist_ok=True)
        (folder / program / "photo-mask.png").write_bytes(run.content(how))
        found = {"seconds": next(seconds), "processor": 4.0, "memory": 2**30, "phases": {"read": 0.5, "cuts": 1.5}}
        return found | {"checked": run.checked if how else 0}

    run.calls, run.checked, run.content = [], 5, lambda how: b"same"
    monkeypatch.setattr(photographs, "run", run)
    monkeypatch.setattr(photographs, "make_photograph", lambda folder, shape: None)
    return run


def rows_of(*arguments):
    return photographs.main(["--megapixels", "6", "--programs", "segment", "--repeats", "2", *arguments])


def test_a_row(commands, capsys):
    assert rows_of() == 0
    assert commands.calls == [("segment",)] * 3 + [("segment", "--certify")]
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| segment"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["segment", "6.0", "3000x2000", "✓", "1.50", "4.00", "1.00", "cuts 1.50, read 0.50"]


def test_other_files_are_no_result(commands, capsys):
    contents = iter([b"untimed", b"one", b"another"])
    commands.content = lambda how: next(contents)
    with pytest.raises(AssertionError, match="two runs wrote other files"):
        rows_of()
    assert "✓" not in capsys.readouterr().out


@pytest.mark.parametrize("certified", [(b"other", 5), (b"same", 0)])
def test_a_run_that_is_not_certified_is_no_result(certified, commands, capsys):
    content, commands.checked = certified
    commands.content = lambda how: content if how else b"same"
    with pytest.raises(AssertionError, match="the certified run"):
        rows_of()
    assert "✓" not in capsys.readouterr().out


def test_every_cut_of_a_command_is_certified(tmp_path):
    photographs.make_photograph(tmp_path, (120, 180))
    found = photographs.run("segment", tmp_path, "--certify")
    assert found["checked"] > 0
    assert found["memory"] > 2**20
    assert {"cuts", "read"} <= set(found["phases"])
    assert set(photographs.written(tmp_path, "segment")) == {f"photo-{k}.png" for k in ("mask", "overlay", "cutout")}


def test_a_wrong_result_stops_the_certified_run(monkeypatch):
    import gridcut
    from gridcut.device import CertificateError

    def refused(self):
        raise CertificateError("wrong")

    monkeypatch.setattr(gridcut.Cut, "check", refused)
    plain = gridcut.max_flow
    with pytest.raises(CertificateError), photographs.certified_results() as checked:
        gridcut.max_flow(np.array([[3, 0]]), np.array([[0, 3]]), {(0, 1): 1}, device="cpu")
    assert not checked
    assert gridcut.max_flow is plain
