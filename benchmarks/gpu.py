"""Arrays and clocks on the GPU."""

import time

import numpy as np


def synchronize():
    """Wait until all kernels and transfers have ended."""
    from gridcut.device.cuda import cuda

    cuda.synchronize()


def device_array(array):
    """A copy on the GPU: a CuPy array, or numba's if CuPy is not installed."""
    try:
        import cupy
    except ImportError:
        from gridcut.device.cuda import cuda

        return cuda.to_device(np.ascontiguousarray(array))
    return cupy.asarray(array)


def to_host(labels):
    """A NumPy array of an array on the GPU or on the host."""
    for name in ("get", "copy_to_host"):
        if hasattr(labels, name):
            return getattr(labels, name)()
    return labels


def timed(run):
    """Seconds of a call, until no work is left on the GPU, and its result."""
    synchronize()
    start = time.perf_counter()
    result = run()
    synchronize()
    return time.perf_counter() - start, result
