"""Shared below the algorithms of all packages: devices, compiled and cached kernels, atomics, threads.

`choose` selects devices, `compile` has the decorators of CPU kernels, `kernel_store` stores machine code on disk,
`intrinsics` adds operations that numba lacks on the CPU, `arguments` validates parameters and has the error of every
certificate, `sparse` validates sparse matrices, and `threads` runs worker threads.  Importing this package imports
numba, but not numba.cuda.
"""

import gridcut.device.numba_import  # noqa: F401, before the others, which import numba
from gridcut.device.arguments import CertificateError
from gridcut.device.choose import DeviceName, cuda_is_available, resolve
from gridcut.device.compile import inlined_kernel, inner_kernel, kernel, plain_kernel
from gridcut.device.intrinsics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_load,
    atomic_or,
    atomic_store,
    lowest_bit,
)
from gridcut.device.threads import run_threads, thread_count

__all__ = [
    "CertificateError",
    "DeviceName",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_load",
    "atomic_or",
    "atomic_store",
    "cuda_is_available",
    "inlined_kernel",
    "inner_kernel",
    "kernel",
    "lowest_bit",
    "plain_kernel",
    "resolve",
    "run_threads",
    "thread_count",
]
