"""Errors that the repaired simulator detects and numba's own does not."""

import numpy as np
import pytest

pytestmark = pytest.mark.sim


def test_uninitialised_reads_fail_deterministically():
    from gridcut.device.cuda import cuda, cuda_kernel

    @cuda_kernel
    def read_uninitialised(out):
        local = cuda.local.array(1, np.int32)
        out[cuda.threadIdx.x] = np.int32(local[0] + local[0])

    for _ in range(3):
        with pytest.raises(RuntimeWarning, match="overflow"):
            read_uninitialised[1, 32](np.zeros(32, np.int32))


def test_deadlocks_are_reported():
    from gridcut.device.cuda import cuda, cuda_kernel, warp_sync

    @cuda_kernel
    def divided(out):
        if cuda.threadIdx.x < 16:
            warp_sync()
        else:
            cuda.syncthreads()
        out[cuda.threadIdx.x] = 1

    with pytest.raises(RuntimeError, match="wait for one another"):
        divided[1, 32](np.zeros(32, np.int32))
