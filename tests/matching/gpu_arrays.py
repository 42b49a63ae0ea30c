"""What the tests of matching on a GPU share: where they run, arrays on the GPU, and copies of results."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import matching

sim = pytest.mark.sim
gpu = pytest.mark.gpu
WHERE = [pytest.param("simulator", marks=sim), pytest.param("gpu", marks=gpu)]


def there(array, dtype=None):
    """numba's array on the GPU."""
    from gridcut.device.cuda import cuda

    return cuda.to_device(np.asarray(array, dtype))


def library_of(name):
    """(type of the arrays, function that copies an array to the GPU) of "torch" or "cupy"."""
    module = pytest.importorskip(name)
    if name == "torch":
        return module.Tensor, lambda array: module.as_tensor(array, device="cuda")
    return module.ndarray, module.asarray


def check_copies(found, field, **wrong):
    """Pickles and deep copies are on the host, copies on the GPU; a changed field fails the check.

    field   name of an array of partners;  wrong: values of other fields that fail
    """
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        again.check()
        assert isinstance(getattr(again, field), np.ndarray)
        assert again.cardinality == found.cardinality
    copied = copy.copy(found)
    copied.check()
    assert getattr(copied, field) is getattr(found, field)
    assert "\n" not in repr(found)
    shifted = getattr(found, field).copy_to_host() + 1
    for changes in ({field: there(shifted)}, {field: [0]}, *({name: value} for name, value in wrong.items())):
        with pytest.raises(matching.CertificateError):
            dataclasses.replace(found, **changes).check()
