"""What the simulator shows that numba's own would not."""

import numpy as np
import pytest

pytestmark = pytest.mark.sim


def test_reckoning_with_what_was_never_set_fails_every_time():
    from gridcut.device.cuda import cuda, cuda_kernel

    @cuda_kernel
    def careless(out):
        local = cuda.local.array(1, np.int32)
        out[cuda.threadIdx.x] = np.int32(local[0] + local[0])

    for _ in range(3):
        with pytest.raises(RuntimeWarning, match="overflow"):
            careless[1, 32](np.zeros(32, np.int32))


def test_threads_that_wait_for_one_another_fail():
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
