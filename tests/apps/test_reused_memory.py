"""Freed memory that is reused: arrays of megabytes without a page fault per page, in glibc."""

import platform
import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource, sys
import numpy as np
from apps.common.reused_memory import keep_freed_memory

if "keep" in sys.argv:
    keep_freed_memory()
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(2**20, np.uint8) for _ in range(20)]
    del arrays
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(faults)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have other rules")
def test_arrays_reuse_freed_memory():
    environment = {"PYTHONPATH": ":".join(sys.path)}  # without MALLOC_..., which fixes the limits

    def faults(*arguments):
        command = [sys.executable, "-c", COUNT_FAULTS, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert faults() > 1000, "otherwise `keep_freed_memory` is not needed"
    assert faults("keep") < 100
