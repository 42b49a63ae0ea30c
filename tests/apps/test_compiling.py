"""Counts of compiled kernels, from numba's events."""

import re
import threading

import numba

from apps.common.compiling import compile_seconds, compiled_kernels, compiling


def test_kernels_that_kernels_call_are_counted_and_their_time_once():
    @numba.njit
    def rule(x):
        return x + 1

    @numba.njit
    def use(x):
        return rule(x) * 2

    count, seconds = compiled_kernels(), compile_seconds()
    assert compiling() == ""
    assert use(1) == 4
    assert compiled_kernels() == count + 2
    first = compile_seconds()
    assert first > seconds
    assert use(2) == 6
    assert (compiled_kernels(), compile_seconds()) == (count + 2, first), "nothing was compiled"
    assert use(1.5) == 5.0
    assert compiled_kernels() == count + 4
    assert compiling() == ""


def test_seconds_are_of_the_thread_that_compiled():
    @numba.njit
    def rule(x):
        return x + 1

    count, seconds = compiled_kernels(), compile_seconds()
    inside = []
    thread = threading.Thread(target=lambda: inside.append((rule(1), compile_seconds())))
    thread.start()
    thread.join()
    assert inside[0][0] == 2
    assert inside[0][1] > 0
    assert (compiled_kernels(), compile_seconds()) == (count + 1, seconds)


def test_the_text_is_shown_while_a_kernel_is_compiled():
    seen = []

    @numba.extending.overload(print_state := lambda x: None)
    def typed(x):
        seen.append(compiling())
        return lambda x: None

    @numba.njit
    def use(x):
        print_state(x)

    use(1)
    assert re.fullmatch(r"compiling kernels, first time only: \d+", seen[0])
    assert compiling() == ""
