"""The number types of CUDA kernels: casts in kernels, and the types of their arguments.

No kernel outside this folder imports its compiler: it comes from here and from gridcut/device/cuda.py.
"""

from numba import float32, float64, int8, int32, int64, types, uint8, uint16, uint32, uint64

__all__ = ["float32", "float64", "int8", "int32", "int64", "types", "uint8", "uint16", "uint32", "uint64"]
