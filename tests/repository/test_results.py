"""Kept tables are as the program wrote them."""

import re
import subprocess

import pytest

from benchmarks import table

# Written before reports were sealed.  A name leaves this list when its table is measured again.
UNSEALED = {
    "assign-cpu-dense",
    "assign-cpu-dense-4000",
    "assign-cpu-rectangular",
    "assign-cpu-sparse-batch",
    "assign-cuda",
    "assign-cuda-20000",
    "assign-cuda-two-cost",
    "blocks-cpu",
    "flow-cpu",
    "greedy-cpu",
    "greedy-cuda",
    "gridcut-cpu",
    "gridcut-cpu-warm",
    "gridcut-cuda",
    "gridcut-cuda-schemes",
    "gridcut-cuda-warm",
    "gridcut-devices",
    "labels-cpu",
    "labels-video",
    "matching-cpu",
    "matching-cpu-permuted",
    "matching-cuda",
    "matching-cuda-auto",
    "matching-cuda-large",
    "matching-cuda-largest",
    "matching-cuda-levels",
    "matching-cuda-orderings",
    "matching-cuda-paper",
    "matching-cuda-permuted",
    "matching-small",
    "matching-steps",
    "scale-cpu",
    "segment-cpu",
    "stereo-cpu",
    "superpixels-cpu",
    "volume-cpu",
}


def test_kept_tables_are_as_the_program_wrote_them():
    edited = {path.stem for path in table.RESULTS.glob("*.md") if not table.is_sealed(path.read_text("utf-8"))}
    assert edited <= UNSEALED, "edited by hand, or not written by `save`"
    assert edited == UNSEALED, "sealed now: take it off the list"


def test_an_edit_breaks_the_seal(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "RESULTS", tmp_path)
    text = table.save("a-table", "# A table\n\ncommit 1234567-dirty; 2026-01-01.\n\n| a |\n").read_text()
    assert table.is_sealed(text)
    assert "commit 1234567-dirty" in text
    for edit in (
        lambda t: t.replace("-dirty", ""),
        lambda t: t.replace("| a |", "| b |"),
        lambda t: t + "more\n",
        lambda t: "\n" + t,
        lambda t: t.replace("<!--", "<!-- "),
        lambda t: t[: t.index("<!--")],
    ):
        assert not table.is_sealed(edit(text))


def test_the_header_says_what_differs_from_the_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "ROOT", tmp_path)
    assert re.fullmatch(r"sources [0-9a-f]{12}; ", table._commit()), "a copy without git"
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "gridcut").mkdir()
    (tmp_path / "gridcut" / "flow.py").write_text("a = 1\n")
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    clean = table._commit()
    assert re.fullmatch(r"commit [0-9a-f]{7,}; ", clean)
    (tmp_path / "notes.md").write_text("no code")
    assert table._commit() == clean
    (tmp_path / "gridcut" / "flow.py").write_text("a = 2\n")
    (tmp_path / "gridcut" / "new.py").write_text("b = 2\n")
    changed = table._commit()
    assert re.fullmatch(
        r"commit [0-9a-f]{7,} with changes to gridcut/flow\.py, gridcut/new\.py \(sources [0-9a-f]{12}\); ", changed
    )
    (tmp_path / "gridcut" / "flow.py").write_text("a = 3\n")
    assert table._commit() != changed


@pytest.mark.parametrize("repeats", [1, 3, 4])
def test_steps_are_those_of_the_median_run(repeats, monkeypatch):
    """The column "solve ms" is of the run whose time is the column "ours ms"."""
    from benchmarks import matching_runs
    from benchmarks.matching_instances import uniform

    clock, durations = [0.0], [5.0, 1.0, 3.0, 2.0]
    names = iter(range(100))

    class Found:
        method, init = "a", "b"

        def __init__(self):
            self.stats = {"run": next(names)}

        def check(self):
            pass

    def run():
        found = Found()
        if found.stats["run"]:  # the first call compiles
            clock[0] += durations[found.stats["run"] - 1]
        return 1, found

    monkeypatch.setattr(matching_runs.Program, "runner", lambda self, graph: run)
    monkeypatch.setattr(matching_runs.time, "perf_counter", lambda: clock[0])
    program = matching_runs.Program("auto", {"method": "auto"})
    result = matching_runs.measure("tiny", uniform(5, 2), [program], repeats, 1e9, None)
    taken = durations[result.runs["auto"].stats["run"] - 1]
    assert taken == sorted(durations[:repeats])[(repeats - 1) // 2]
    assert result.seconds["auto"] == (taken if repeats % 2 else (2.0 + 3.0) / 2)
