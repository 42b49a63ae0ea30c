"""No command line ends in a traceback, a hang or a crash, changes an existing file, or leaves a partial result."""

from collections import Counter

import pytest

from tests.apps import hostile_lines
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
