"""No prefix and no change of one byte of a file ends a process, hangs, takes a gigabyte or gives a traceback."""

import sys

import numpy as np
import pytest

if sys.platform != "linux":
    pytest.skip("memory is measured as on Linux", allow_module_level=True)

from tests.apps.one_byte_changes import KINDS, battery, damaged, number_of_cases, sound_files
from tests.tiers import in_quick_tier

QUICK = ("png", "records")  # an image, and what the commands write beside results


@pytest.mark.parametrize("kind", in_quick_tier(KINDS, QUICK.__contains__))
def test_some_prefixes_and_changes(kind, tmp_path):
    count = number_of_cases(sound_files(kind, tmp_path / "sound"))
    numbers = np.random.default_rng(len(kind)).choice(count, min(count, 120), replace=False)
    counts, faults = battery(kind, tmp_path, numbers.tolist())
    assert not faults, faults
    assert counts["read"]
    assert counts["refused"] or kind == "records"


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_all_prefixes_and_changes(kind, tmp_path, capsys):
    count = number_of_cases(sound_files(kind, tmp_path / "sound"))
    counts, faults = battery(kind, tmp_path, list(range(count)))
    with capsys.disabled():
        print(f"\n{kind}: {count} files, {dict(counts)}")
    assert not faults, faults


def test_cases_are_all_prefixes_and_changes():
    found = [damaged([b"ab", b"c"], number) for number in range(24)]
    assert [content for which, content in found if which == 0 and len(content) < 2] == [b"", b"a"]
    assert {content for which, content in found if which == 1} >= {b"", b"\0", b"\xff", b"d", b"b", b"\xe3"}
