"""Results of the CUDA solvers in the simulator: proved from their visible fields, pickled, copied and printed."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import gridcut

pytestmark = pytest.mark.sim
SHAPE = (3, 6)
EDGES = {(0, 1): 4, (1, 0): 3}
COPIES = [lambda result: pickle.loads(pickle.dumps(result)), copy.copy, copy.deepcopy]


def drawn(seed, *lead):
    return np.random.default_rng(seed).integers(0, 20, (2, *lead, *SHAPE))


def to_device(array):
    from gridcut.device.cuda import cuda

    return cuda.to_device(array)


def refutes(result, **changes):
    for field, wrong in changes.items():
        with pytest.raises(gridcut.CertificateError):
            dataclasses.replace(result, **{field: wrong}).check()


def test_a_cut_of_arrays_on_the_gpu():
    """Labels of a pickle are on the host; a change of the caller's arrays is seen after the first proof too."""
    source, sink = map(to_device, drawn(2))
    cut = gridcut.max_flow(source, sink, EDGES, device="cuda")
    cut.check()
    twin = pickle.loads(pickle.dumps(cut))
    assert isinstance(twin.labels, np.ndarray)
    assert np.array_equal(twin.labels, cut.labels.copy_to_host())
    assert isinstance(twin.flow((0, 1)), np.ndarray)
    twin.check()
    shared = copy.copy(cut)
    assert shared.labels is cut.labels
    shared.check()
    refutes(cut, value=cut.value + 1, labels=to_device(~cut.labels.copy_to_host()))
    source.copy_to_device(source.copy_to_host() + 1)
    with pytest.raises(gridcut.CertificateError):
        cut.check()
    twin.check()


def test_a_labelling():
    rng = np.random.default_rng(5)
    unary = to_device(rng.integers(0, 20, (3, 2, 5)))
    found = gridcut.alpha_expansion(unary, EDGES, restarts=1, device="cuda")
    for make in COPIES:
        make(found).check()
    twin = pickle.loads(pickle.dumps(found))
    assert isinstance(twin.labels, np.ndarray)
    refutes(twin, energy=found.energy - 1, labels=twin.labels[::-1].copy() + 1)
    assert "\n" not in repr(found)


def test_a_cut_on_several_gpus():
    source, sink = (np.tile(a, (12, 1)) for a in drawn(6))
    cut = gridcut.max_flow(source, sink, EDGES, devices=[0, 0])
    refutes(cut, value=cut.value + 1, labels=~cut.labels)
    for make in COPIES:
        twin = make(cut)
        twin.check()
        assert np.array_equal(twin.labels, cut.labels)
    assert type(pickle.loads(pickle.dumps(cut))) is gridcut.Cut
