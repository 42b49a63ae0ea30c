"""Shared by all tests: a compile cache of its own, the devices to run on, and which tests fit the machine.

On a machine without a GPU the tests marked `gpu` are left out, and so are those marked `sim` outside numba's
simulator (NUMBA_ENABLE_CUDASIM=1), where nothing else runs.  CUTMATCH_TEST_GPU=1 says that there must be a GPU.

Tests marked `thorough` are deselected unless the -m expression names that marker or CUTMATCH_THOROUGH=1 is set.

A run of the whole suite, or one with --quick, is of the quick tier (tests/tiers.py); --all runs all combinations of
parameters.
"""

import atexit
import locale
import os
import re
import shutil
import signal
import sys
import tempfile

os.environ.setdefault("CUTMATCH_QUIET", "1")  # tests of what a command writes do not expect that it compiles

# Before numba is imported: what earlier runs compiled must not hide what this one would.
if "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="cutmatch-tests-")
    atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)

import numba
import pytest

from gridcut.device import cuda_is_available
from tests.tiers import LONGEST, is_whole_run, quick_tier

# nohup and jobs in the background ignore these, and so would the processes that tests interrupt.
for name in ("SIGINT", "SIGHUP"):
    if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, name), signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)

SIMULATED = bool(numba.config.ENABLE_CUDASIM)
if SIMULATED:
    from tests.simulator.install import install

    install()
LEFT_OUT = pytest.StashKey[int]()
IN_FULL_TIER = pytest.StashKey[int]()


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="the full tier: all combinations of parameters, slow tests too")
    parser.addoption("--quick", action="store_true", help="the quick tier, also of named files")


def has_gpu():
    return cuda_is_available() and not SIMULATED


def gpu_demanded():
    return os.environ.get("CUTMATCH_TEST_GPU") == "1"


def thorough_demanded(config):
    """Whether the long randomised batteries run: not with -m sim or -m gpu alone, which have another purpose."""
    expression = config.getoption("markexpr", default="")
    return os.environ.get("CUTMATCH_THOROUGH") == "1" or re.search(r"\bthorough\b", expression) is not None


@pytest.fixture(autouse=True)
def locale_of_the_process():
    """Undo a change of the locale: GDCM's writer sets it to C, after which text files would be read as ASCII."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    if locale.setlocale(locale.LC_ALL) != before:
        locale.setlocale(locale.LC_ALL, before)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Every device there is."""
    return request.param


@pytest.fixture
def gpu(request):
    """For the one test that says whether those on a GPU were run."""
    if not (has_gpu() or gpu_demanded()):
        pytest.skip(f"no CUDA GPU: {request.config.stash[LEFT_OUT]} tests marked gpu are left out")


@pytest.fixture(autouse=True)
def _no_gpu_test_passes_without_one(request):
    if request.node.get_closest_marker("gpu") and not has_gpu():
        pytest.fail("CUTMATCH_TEST_GPU=1, but numba finds no CUDA GPU")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    def marked(name):
        return {item for item in items if item.get_closest_marker(name)}

    gpu = marked("gpu") if not (has_gpu() or gpu_demanded()) else set()
    config.stash[LEFT_OUT] = len(gpu)
    unfit = gpu if SIMULATED else gpu | marked("sim")
    items[:] = [item for item in items if item not in unfit]
    if not thorough_demanded(config) and (left := marked("thorough")):
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]
    full = config.getoption("all") or gpu_demanded() or thorough_demanded(config)
    if (is_whole_run(config) or config.getoption("quick")) and not full:
        kept = set(quick := quick_tier(items))
        config.stash[IN_FULL_TIER] = len(items) - len(quick)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = quick
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish():
    """A kernel that is compiled while tests are collected would delay every run, also that of a single test."""
    cache = sys.modules.get("gridcut.device.kernel_store")
    if cache is not None and cache.origins:
        raise pytest.UsageError(f"collection used kernels; call them inside tests: {', '.join(cache.origins)}")


def pytest_sessionfinish(session):
    """A worker of pytest-xdist, which collects the tests, tells the process that prints the summary."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["in_full_tier"] = session.config.stash.get(IN_FULL_TIER, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[IN_FULL_TIER] = getattr(node, "workeroutput", {}).get("in_full_tier", 0)


def pytest_terminal_summary(terminalreporter, config):
    if count := config.stash.get(IN_FULL_TIER, 0):
        terminalreporter.write_line(f"{count} further combinations: ./run tests --all")
