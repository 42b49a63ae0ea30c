"""Shared by all tests: a compile cache of its own, and the devices to run on."""

import atexit
import os
import shutil
import tempfile

# Before numba is imported: what earlier runs compiled must not hide what this one would.
if "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="cutmatch-tests-")
    atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)

import pytest

from gridcut.device import cuda_is_available
from gridcut.methods import METHODS


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Every device there is; CUTMATCH_TEST_GPU=1 makes a missing GPU a failure instead of a skip."""
    if request.param == "cuda" and not cuda_is_available():
        if os.environ.get("CUTMATCH_TEST_GPU") == "1":
            pytest.fail("CUTMATCH_TEST_GPU=1, but numba finds no CUDA GPU")
        pytest.skip("no CUDA GPU")
    if not any(request.param in devices for devices in METHODS.values()):
        pytest.skip(f"no solver for {request.param} yet")
    return request.param
