"""No command line ends in a traceback, a hang or a crash, changes an existing file, or leaves a partial result."""

from collections import Counter
from pathlib import Path

import pytest

from tests.apps import hostile_files, hostile_lines
from tests.apps.hostile_judge import judge
from tests.apps.hostile_lines import battery, lines

SEED = 0


def failures(found):
    return "\n".join(f"{v.line.number}: {v.line}\n  {v.fault}\n  {v.printed[-500:]}" for v in found if v.fault)


@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_hostile_command_lines(count):
    found = battery(count, SEED)
    assert not failures(found), failures(found)
    assert len({verdict.status for verdict in found} & {0, 2}) == 2, "some succeed and some are rejected"


@pytest.mark.thorough
def test_a_thousand_hostile_command_lines(capsys):
    found = battery(1000, SEED)
    with capsys.disabled():
        print(f"\n1000 command lines, seed {SEED}: {Counter(verdict.status for verdict in found)}")
    assert not failures(found), failures(found)


def test_lines_cover_every_option():
    """The lines are generated from the commands' own options, so that they cover new options."""
    used = Counter()
    for line in lines(1000, SEED):
        used.update((line.argv[0], word.split("=")[0]) for word in line.argv if word.startswith("--"))
    for command in hostile_lines.COMMANDS:
        for action in hostile_lines.options_of(command):
            assert used[command, action.option_strings[-1]], (command, action.option_strings)


def test_the_judge_detects_faults(tmp_path):
    hostile_files.write(tmp_path)
    before = hostile_files.snapshot(tmp_path)
    assert judge(0, "", before, tmp_path) is None
    assert judge(2, "cutmatch segment: no", before, tmp_path) is None
    assert "not a word" in judge(2, " \n", before, tmp_path)
    assert "crash" in judge("crash -11", "", before, tmp_path)
    assert "traceback" in judge(1, "Traceback (most recent call last)\n", before, tmp_path)
    (tmp_path / "half.json").write_text("{")
    assert "cannot be read" in judge(0, "", before, tmp_path)
    (tmp_path / "half.json").write_text('{"a": Infinity}')
    assert "cannot be read" in judge(0, "", before, tmp_path)
    (tmp_path / "half.json").unlink()
    (tmp_path / ".mask.png.12.part").write_text("")
    assert "left" in judge(0, "", before, tmp_path)
    (tmp_path / ".mask.png.12.part").unlink()
    Path(tmp_path / "photo.png").write_bytes(b"another")
    assert judge(0, "", before, tmp_path, hostile_lines.replaceable(["--overwrite", "--json", "photo.png"])) is None
    assert hostile_lines.replaceable(["--json", "photo.png"]) == set()
    assert "changed ['photo.png']" in judge(0, "", before, tmp_path)
