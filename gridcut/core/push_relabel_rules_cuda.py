"""The rules of push-relabel at one pixel (gridcut/core/push_relabel_steps.py), compiled for CUDA kernels."""

from gridcut.core import push_relabel_steps as rules
from gridcut.device.cuda import device_function


def _for_kernels(rule):
    """The same Python function, compiled for the GPU; with NUMBA_DISABLE_JIT=1 it is not wrapped by numba."""
    return device_function(getattr(rule, "py_func", rule))


push_amount = _for_kernels(rules.push_amount)
is_admissible = _for_kernels(rules.is_admissible)
goes_down = _for_kernels(rules.goes_down)
lifted = _for_kernels(rules.lifted)
