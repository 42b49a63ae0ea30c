"""Kept tables are as the program wrote them."""

import re

import pytest

from benchmarks import harness, table
from benchmarks.matching_programs import CpuRun, Program

# Written before reports were sealed.  A name leaves this list when its table is measured again.
UNSEALED = {
    "assign-cpu-dense",
    "assign-cpu-dense-4000",
    "assign-cpu-rectangular",
    "assign-cpu-sparse-batch",
    "assign-cuda",
    "greedy-cpu",
    "gridcut-cpu-warm",
    "gridcut-cuda-schemes",
    "labels-cpu",
    "labels-video",
    "matching-cpu",
    "matching-cpu-permuted",
    "matching-cuda-paper",
    "matching-small",
    "scale-cpu",
}


def is_sealed(text: str) -> bool:
    """Whether a saved report is as `save` wrote it; False for one that was edited or has no seal."""
    found = re.search(r"\n<!-- sha256 of the lines above: [0-9a-f]{64} -->\n\Z", text)
    return found is not None and table.sealed(text[: found.start()]) == text


def test_kept_tables_are_as_the_program_wrote_them():
    edited = {path.stem for path in table.RESULTS.glob("*.md") if not is_sealed(path.read_text("utf-8"))}
    assert edited <= UNSEALED, "edited by hand, or not written by `save`"
    assert edited == UNSEALED, "sealed now: take it off the list"


@pytest.mark.parametrize("repeats", [1, 3, 4])
def test_steps_are_those_of_the_median_run(repeats):
    """The column "solve ms" is of the run whose time is the column "ours ms"."""
    durations = [5.0, 1.0, 3.0, 2.0]
    turns = iter(range(100))

    class Bench:
        def open(self, source):
            return (5, 5), 10, 4

        def compile(self, program):
            pass

        def run(self, program, calls):
            turn = next(turns)  # the first is not timed
            return CpuRun(durations[turn - 1] if turn else 9.0, 4, None, "a", "b", {"run": turn})

        def certify(self, program):
            pass

    worker = harness.Worker(None, None, Bench)
    result = harness.measure("tiny", worker, [Program("auto", "auto")], repeats, 1e9)
    taken = durations[result.ran["auto"].stats["run"] - 1]
    assert taken == result.ran["auto"].seconds == sorted(durations[:repeats])[(repeats - 1) // 2]
    assert result.seconds["auto"] == (taken if repeats % 2 else (2.0 + 3.0) / 2)
