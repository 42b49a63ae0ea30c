"""Tasks that run beside the calling thread."""

import threading

import numba
import pytest

from apps.common.row_blocks import concurrently


@pytest.fixture(params=[1, 2])
def threads(request):
    before = numba.get_num_threads()
    numba.set_num_threads(min(request.param, numba.config.NUMBA_NUM_THREADS))
    yield numba.get_num_threads()
    numba.set_num_threads(before)


def test_a_task_returns_its_result_and_has_the_callers_threads(threads):
    wait = concurrently(lambda: (numba.get_num_threads(), threading.current_thread() is threading.main_thread()))
    assert wait() == (threads, threads == 1)


def test_a_task_raises_its_error_where_it_is_awaited(threads):
    def fail():
        raise ValueError("no")

    wait = concurrently(fail)
    with pytest.raises(ValueError, match="no"):
        wait()
