"""What all packages share below their algorithms: devices, compiled and cached kernels, atomics, threads.

`choose` selects devices, `compile` has the decorators and the kernel cache, `atomics` and `bits` the operations numba
lacks on the CPU, `errors` the error of every certificate, `sparse` the validation of sparse matrices, `threads` the
worker threads.  Importing this package imports numba, but never numba.cuda.
"""

from gridcut.device.atomics import atomic_add, atomic_cas, atomic_load, atomic_store
from gridcut.device.bits import lowest_bit
from gridcut.device.choose import DeviceName, cuda_is_available, resolve
from gridcut.device.compile import kernel, parallel_kernel
from gridcut.device.errors import CertificateError
from gridcut.device.threads import run_threads, thread_count

__all__ = [
    "CertificateError",
    "DeviceName",
    "atomic_add",
    "atomic_cas",
    "atomic_load",
    "atomic_store",
    "cuda_is_available",
    "kernel",
    "lowest_bit",
    "parallel_kernel",
    "resolve",
    "run_threads",
    "thread_count",
]
