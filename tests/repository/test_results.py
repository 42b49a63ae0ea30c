"""Kept tables are as the program wrote them."""

import re

from benchmarks import table

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
