"""The tests' own tools for faults: each line of a call fails once, and a timer interrupts it."""

import time

import pytest

from gridcut.core.problem import check_offset
from tests.faults import HAS_TIMER, Fault, fails_at, first_and_last, interrupted, lines_of


def test_every_line_fails_once():
    def call():
        check_offset((0, 1), 2)

    lines = lines_of(call)
    assert len(lines) > 1
    assert {name.rsplit("/", 1)[1] for name, _ in lines} == {"problem.py"}
    assert all(fails_at(call, k) for k in range(len(lines)))
    assert not fails_at(call, len(lines))
    assert first_and_last([1, 2, 2, 2, 3, 1]) == [0, 1, 3, 4, 5]


def test_errors_of_the_call_are_raised():
    with pytest.raises(ValueError, match="offset"):
        fails_at(lambda: check_offset((0, 0), 2), 10**6)
    assert not issubclass(Fault, Exception)


@pytest.mark.skipif(not HAS_TIMER, reason="no timer that interrupts")
def test_a_timer_interrupts():
    def wait(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass

    assert interrupted(lambda: wait(60), 0.01)
    assert not interrupted(lambda: None, 60)
