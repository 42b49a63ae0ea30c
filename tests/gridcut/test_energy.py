"""Binary energies against enumeration of all labellings, and validation."""

import itertools

import numpy as np
import pytest

from gridcut.energy import BinaryEnergy, binary_labels, binary_minimum, energy_of


def test_potts_becomes_equal_arcs_and_no_terminals():
    from gridcut.energy import reduce_to_cut

    energy = BinaryEnergy(np.zeros((2, 3, 4), int), {(0, 1): [[0, 4], [4, 0]]})
    source, sink, edges, constant = reduce_to_cut(energy)
    assert constant == 0
    assert not source.any()
    assert not sink.any()
    assert (edges[0, 1][:, :-1] == 4).all()
    assert (edges[0, -1][:, 1:] == 4).all()


def test_terms_that_leave_the_grid_do_not_count():
    unary = np.random.default_rng(9).normal(size=(2, 3, 3))
    table = np.full((2, 2, 3, 3), np.nan)
    table[..., :, :2] = 0
    pairs = {(0, 1): table, (1, 0): table.swapaxes(2, 3), (5, 0): np.full((2, 2, 3, 3), np.inf)}
    labels = binary_labels(BinaryEnergy(unary, pairs))
    np.testing.assert_array_equal(labels, unary[1] <= unary[0])


@pytest.mark.parametrize(
    ("table", "amount"), [(np.array([[3, 0], [0, 2]]), "5 exceeds E01 .* 0 by 5"), (np.eye(2), "2.0 exceeds")]
)
def test_first_offending_edge_is_named(table, amount):
    tables = np.zeros((2, 2, 4, 5), table.dtype)
    tables[..., 2, 4] = table  # leaves the grid: does not count
    tables[..., 2, 1] = tables[..., 3, 0] = table
    energy = BinaryEnergy(np.zeros((2, 4, 5), int), {(1, 0): np.zeros((2, 2), int), (0, 1): tables})
    with pytest.raises(ValueError, match=rf"pairwise\[\(0, 1\)\] at pixel \(2, 1\): E00 \+ E11 = {amount}"):
        binary_labels(energy)


@pytest.mark.parametrize("label", [0, 1])
def test_first_offending_triple_is_named(label):
    """x z - x y z is bad for y = 0 only, x y z - x y - y z for y = 1 only."""
    table = np.zeros((2, 2, 2, 4), int)
    for x, y, z in np.ndindex(2, 2, 2):
        table[x, y, z, 1] = 4 * (x * y * z - x * y - y * z if label else x * z - x * y * z)
    energy = BinaryEnergy(np.zeros((2, 4), int), triple={((1,), (2,)): table})
    message = rf"at pixel p = \(1,\): with label {label} at p \+ \(1,\), the pair p and p \+ \(2,\) .* by 4;"
    with pytest.raises(ValueError, match=message):
        binary_labels(energy)


UNARY = np.zeros((2, 3, 4), int)
SPOILT = UNARY.astype(float)
SPOILT[1, 1, 2] = np.nan
PAIR = np.zeros((2, 2), int)


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (TypeError, "unary must hold", (UNARY.astype(complex),)),
        (ValueError, "unary must have shape", (np.zeros((3, 3, 4)),)),
        (
            ValueError,
            r"unary is NaN or infinite at pixel \(1, 2\)",
            (np.where(np.arange(24) == 6, np.nan, 0).reshape(2, 3, 4),),
        ),
        (TypeError, "pairwise must be a mapping", (UNARY, [((0, 1), 3)])),
        (TypeError, "an offset must be a tuple", (UNARY, {(0, 0.5): PAIR})),
        (ValueError, "pairwise: the offset .* to itself", (UNARY, {(0, 0): PAIR})),
        (ValueError, "pairwise: an offset must have 2 entries", (UNARY, {(1,): PAIR})),
        (
            ValueError,
            "twice, or its opposite",
            (UNARY, {(0, 1): PAIR, (0, -1): PAIR}),
        ),
        (ValueError, r"shape \(2, 2, 3, 4\) or \(2, 2\)", (UNARY, {(0, 1): np.zeros((3, 4))})),
        (ValueError, "NaN or infinite", (UNARY, {(0, 1): np.full((2, 2), np.inf)})),
        (TypeError, "pair of offsets", (UNARY, {}, {(0, 1, 2): np.zeros((2, 2, 2))})),
        (ValueError, "must differ", (UNARY, {}, {((0, 1), (0, 1)): np.zeros((2, 2, 2))})),
        (ValueError, r"shape \(2, 2, 2, 3, 4\)", (UNARY, {}, {((0, 1), (0, 2)): PAIR})),
        (ValueError, "energy too large", (UNARY + 2**60,)),
        (ValueError, "energy too large", (np.full((2, 3, 4), 1e308),)),
    ],
)
def test_bad_energies(error, message, arguments):
    with pytest.raises(error, match=message):
        BinaryEnergy(*arguments)


def test_bad_labels_and_bad_energy():
    energy = BinaryEnergy(UNARY)
    with pytest.raises(TypeError, match="integers or bool"):
        energy.value(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="grid's shape"):
        energy.value(np.zeros((4, 3), int))
    with pytest.raises(ValueError, match="between 0 and 1"):
        energy.value(np.full((3, 4), 2))
    with pytest.raises(TypeError, match="must be a BinaryEnergy"):
        binary_labels(UNARY)


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (ValueError, "labels must lie", (np.full((3, 4), 2), UNARY)),
        (ValueError, "label_cost must have shape", (UNARY[0], UNARY, {}, np.zeros((3, 3)))),
        (ValueError, "scalar or have shape", (UNARY[0], UNARY, {(0, 1): np.zeros(4)})),
        (TypeError, "weights must be a mapping", (UNARY[0], UNARY, 3)),
        (
            ValueError,
            r"unary holds nan at \(0, 1, 2\)",
            (UNARY[0], np.where(np.arange(24) == 6, np.nan, 0.0).reshape(2, 3, 4)),
        ),
        (ValueError, r"weights\[\(0, 1\)\] holds nan at \(0, 0\)", (UNARY[0], UNARY, {(0, 1): np.nan})),
        (ValueError, r"weights\[\(1, -1\)\] holds inf at \(0, 1\)", (UNARY[0], UNARY, {(1, -1): np.inf})),
        (ValueError, r"label_cost holds nan at \(0, 1\)", (UNARY[0], UNARY, {}, [[0, np.nan], [1, 0]])),
        (ValueError, "larger than the largest float", (UNARY[0], UNARY, {(0, 1): 1e308}, [[1e9, 1], [1, 0]])),
    ],
)
def test_energy_of_rejects_bad_arguments(error, message, arguments):
    with pytest.raises(error, match=message):
        energy_of(*arguments)


def test_energy_of_at_the_ends_of_int64():
    assert energy_of(np.zeros(3, int), np.full((2, 3), 2**62)) == 3 * 2**62
    assert energy_of(np.zeros(3, int), np.full((2, 3), -(2**63))) == -3 * 2**63
    cost = [[4, 0], [0, 0]]
    assert energy_of(np.zeros(2, int), np.zeros((2, 2), int), {(1,): 2**62}, cost) == 2**64
    assert energy_of(np.zeros(3, int), np.zeros((2, 3), np.int8), {(1,): -(2**63)}, cost) == -(2**66)
    assert energy_of(np.zeros(200, bool), np.full((2, 200), 127, np.int8)) == 25400


def test_energy_of_ignores_entries_outside_the_energy():
    unary = np.array([[1.0, 2.0], [np.nan, np.inf]])
    weight = np.array([3.0, np.nan])  # the second leads out of the grid
    assert energy_of(np.zeros(2, int), unary, {(1,): weight}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_energies_next_to_the_limit_are_exact(seed):
    """Triples and pairs whose totals come close to 2**62, against all labellings in Python integers."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    high = (2**62 - 1) // (2 * n * 6)
    pair = np.zeros((2, 2, n), np.int64)
    pair[0, 1], pair[1, 0] = rng.integers(0, high, (2, n))
    triple = np.zeros((2, 2, 2, n), np.int64)
    triple[(seed % 2,) * 3] = -rng.integers(high // 2, high, n)
    unary = rng.integers(-high, high, (2, n))
    energy = BinaryEnergy(unary, {(1,): pair}, {((1,), (2,)): triple})
    found = binary_minimum(energy, device="cpu")
    found.check()
    values = []
    for x in itertools.product((0, 1), repeat=n):
        value = sum(int(unary[x[p], p]) for p in range(n))
        value += sum(int(pair[x[p], x[p + 1], p]) for p in range(n - 1))
        values.append(value + sum(int(triple[x[p], x[p + 1], x[p + 2], p]) for p in range(n - 2)))
    assert found.value == min(values)
