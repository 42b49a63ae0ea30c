"""Kernels are compiled without garbage collections, and the collector is afterwards as it was."""

import gc
import os
import threading

import numpy as np
import pytest

from gridcut.device import compile as decorators
from gridcut.device.garbage import NoCollections


@pytest.fixture(autouse=True)
def collector():
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_compilation(enabled, monkeypatch):
    monkeypatch.setenv("CUTMATCH_CACHE", "0")

    @decorators.kernel
    def doubled(values):
        return values * 2

    (gc.enable if enabled else gc.disable)()
    collections = []

    def noted(phase, _):
        collections.append(phase)

    gc.collect()
    gc.callbacks.append(noted)
    try:
        assert doubled(np.arange(3)).tolist() == [0, 2, 4]
        during = len(collections)
    finally:
        gc.callbacks.remove(noted)
    # The compiler makes enough objects for hundreds; one young collection may come before or after it.
    assert during <= 4
    assert gc.isenabled() == enabled


def test_an_error_of_the_compiler_enables_it_again():
    @decorators.kernel
    def impossible(value):
        return value.there_is_no_such_field

    gc.enable()
    with pytest.raises(Exception, match="there_is_no_such_field"):
        impossible(1)
    assert gc.isenabled()


def compiling_thread():
    """A thread in the context, and the event that lets it leave."""
    gc.enable()
    inside, leave = threading.Event(), threading.Event()

    def run():
        with NoCollections():
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=run)
    thread.start()
    assert inside.wait(20)
    return leave, thread


def test_the_last_of_several_threads_enables_it():
    leave, thread = compiling_thread()
    with NoCollections():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_while_another_thread_compiles():
    leave, thread = compiling_thread()
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() else 1)
    _, status = os.waitpid(child, 0)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
