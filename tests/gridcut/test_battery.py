"""Every public function on every instance of the batteries, certified, against oracles that share no code with it.

The thorough form draws its instances: ``pytest -m thorough tests/gridcut/test_battery.py``; CUTMATCH_SEED moves the
seeds, each of which a failure names.
"""

import os
from collections import Counter

import numpy as np
import pytest

import gridcut
from tests.gridcut import label_battery, oracles
from tests.gridcut.oracles import Instance, check_flow, solve_by_oracle, wrong

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
INSTANCES = {instance.name: instance for instance in oracles.table()}
ANSWERS = {}
ENERGIES = list(label_battery.table())

rare_too = pytest.mark.parametrize("rare", [False, pytest.param(True, marks=pytest.mark.slow)])


def instances(rare: bool):
    return [instance for instance in INSTANCES.values() if oracles.is_rare(instance) == rare]


@pytest.fixture(scope="module")
def counts(request):
    """Counter of (function, oracle); printed at the end."""
    found = Counter()
    yield found
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        by_oracle = Counter()
        for (function, oracle), number in sorted(found.items()):
            print(f"\n  {function:24} {oracle:12} {number:7}", end="")
            by_oracle[oracle] += number
        print(f"\n  gridcut: {found.total()} solves, {', '.join(f'{n} by {o}' for o, n in by_oracle.items())}")


def answer_of(instance: Instance):
    """The oracle's answer to an instance of the table, found once."""
    if instance.name not in ANSWERS:
        ANSWERS[instance.name] = solve_by_oracle(instance)
    return ANSWERS[instance.name]


def judge(cut, instance: Instance, answer, *, flow=True):
    """AssertionError if a cut is wrong, or does not prove itself."""
    found = wrong(cut, instance, answer)
    assert found is None, f"{instance.name}: {found}"
    cut.check()
    if flow:
        check_flow(cut, *instance.arguments, instance.mask)


@rare_too
@pytest.mark.usefixtures("poison")
def test_max_flow(method, rare, counts):
    name, parameters = oracles.METHODS[method]
    for instance in instances(rare):
        if name == "tiles" and instance.name == "offset longer than the grid":
            continue
        answer = answer_of(instance)
        cut = gridcut.max_flow(*instance.arguments, mask=instance.mask, method=name, **parameters)
        judge(cut, instance, answer, flow=method in ("auto", "push_relabel fifo", "auto cuda"))
        counts[f"max_flow {method}", answer.oracle] += 1


@rare_too
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_batches(device, counts, order, rare):
    """Instances of one shape, stacked."""
    groups = {}
    for instance in instances(rare):
        plain = all(isinstance(a, np.ndarray) for a in (instance.source, instance.sink, *instance.edges.values()))
        if plain and instance.mask is None:
            dtype = instance.source.dtype.newbyteorder("=").str
            groups.setdefault((instance.source.shape, tuple(instance.edges), dtype), []).append(instance)
    for (shape, offsets, _), members in groups.items():
        members = members[order]
        stacked = [np.stack([getattr(m, name) for m in members]) for name in ("source", "sink")]
        edges = {offset: np.stack([m.edges[offset] for m in members]) for offset in offsets}
        cuts = gridcut.max_flow_batch(*stacked, edges, device=device)
        cuts.check()
        assert len(cuts) == len(members), shape
        for cut, value, labels, member in zip(cuts, cuts.values, cuts.labels, members, strict=True):
            answer = answer_of(member)
            judge(cut, member, answer)
            assert value == answer.value
            assert np.array_equal(labels, answer.labels)
            counts["max_flow_batch", answer.oracle] += 1
    assert len(groups) > 20


def updated(solver, instance: Instance, rng) -> Instance:
    """Change some capacities of a solver; the instance as it is then."""
    shape = np.shape(instance.source)
    step = 1 if instance.scale is None else instance.scale
    source, sink, edges = np.array(instance.source), np.array(instance.sink), dict(instance.edges)
    kind = rng.integers(4)
    if kind == 0:
        source = (rng.integers(0, 12, shape) * step).astype(source.dtype)
        solver.update(source=source)
    elif kind == 1:
        sink = (rng.integers(0, 12, shape) * step).astype(sink.dtype)
        sink[rng.random(shape) < 0.5] = 0
        solver.update(sink=sink)
    elif kind == 2 and edges:
        offset = list(edges)[rng.integers(len(edges))]
        edges[offset] = (rng.integers(0, 9, shape) * step).astype(np.asarray(edges[offset]).dtype)
        solver.update(edges={offset: edges[offset]})
    else:
        where = rng.random(shape) < 0.3
        new = (rng.integers(0, 12, int(where.sum())) * step).astype(source.dtype)
        source[where] = new
        solver.update(source=new, where=where)
    return instance._replace(source=source, sink=sink, edges=edges)


def solve_with_updates(instance: Instance, rng, counts, device, rounds=3):
    solver = gridcut.Solver(*instance.arguments, mask=instance.mask, device=device)
    for _ in range(rounds):
        answer = solve_by_oracle(instance)
        judge(solver.solve(), instance, answer, flow=False)
        counts["Solver", answer.oracle] += 1
        instance = updated(solver, instance, rng)


@rare_too
def test_solvers_with_updates(device, rare, counts):
    rng = np.random.default_rng(7)
    for instance in instances(rare):
        if str(oracles.INT64_MAX) not in instance.name:  # any larger capacity is refused there
            solve_with_updates(instance, rng, counts, device)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4), (0, 0, 0)])
def test_grids_without_pixels(shape, device):
    """Every function takes them, and what comes back proves itself."""
    offset = (*(0,) * (len(shape) - 1), 1)
    cut = gridcut.max_flow(np.zeros(shape, int), np.zeros(shape), {offset: 1}, device=device)
    cut.check()
    assert cut.value == 0
    assert cut.flow(offset).shape == cut.residual(offset).shape == shape
    solver = gridcut.Solver(np.zeros(shape, int), 0, {offset: 1}, device=device)
    solver.update(sink=np.ones(shape, int))
    solver.solve().check()
    batch = gridcut.max_flow_batch(np.zeros((2, *shape), int), 1, {offset: 1}, device=device)
    batch.check()
    assert batch.labels.shape == (2, *shape)
    none = gridcut.max_flow_batch(np.zeros((0, *(3 for _ in shape)), int), 1, {offset: 1}, device=device)
    none.check()
    assert len(none) == 0
    for weights in ({}, {offset: 1}):
        results = label_results(np.zeros((3, *shape), int), weights, device)
        results.append(gridcut.binary_minimum(gridcut.BinaryEnergy(np.zeros((2, *shape), int)), device=device))
        for result in results:
            result.check()
            assert result.labels.shape == shape
        assert gridcut.energy_of(np.zeros(shape, int), np.zeros((3, *shape)), weights) == 0


def label_results(unary, weights, device):
    """What every function of labels makes of costs."""
    cost = np.abs(np.subtract.outer(range(len(unary)), range(len(unary))))
    results = [
        gridcut.alpha_expansion(unary, weights, cost, device=device),
        gridcut.alpha_beta_swap(unary, weights, cost, device=device),
        gridcut.LabelSolver(unary, weights, cost).solve(),
    ]
    if len(unary) > 1:
        results.append(gridcut.convex_labels(unary, weights, cost, device=device))
        pairs = {offset: [[0, 1], [1, 0]] for offset in weights}
        results.append(gridcut.roof_duality(gridcut.BinaryEnergy(unary[:2], pairs), device=device))
    return results


def judge_labels(result, energy, energies, moves, counts, function):
    """A labelling of several labels: its energy, and that no move of its kind lowers it."""
    result.check()
    labels = tuple(np.asarray(result.labels).reshape(-1).tolist())
    assert result.energy == energies[labels], f"{energy.name}: energy {result.energy}, exhaustive {energies[labels]}"
    assert gridcut.energy_of(result.labels, energy.unary, energy.weights, energy.cost) == energies[labels]
    failed = label_battery.not_improved(labels, energies, moves)
    assert failed is None, f"{energy.name}: {failed}"
    counts[function, "exhaustive"] += 1


def judge_energy(energy, counts, device):
    count = len(energy.unary)
    energies = label_battery.all_energies(energy)
    arguments = energy.unary, energy.weights, energy.cost
    if energy.cost is None or (energy.cost <= (energy.cost[:, :, None] + energy.cost).min(1)).all():  # a metric
        moves = label_battery.expansion_moves(count)
        result = gridcut.alpha_expansion(*arguments, device=device)
        judge_labels(result, energy, energies, moves, counts, "alpha_expansion")
        if count <= 2:
            assert result.energy == min(energies.values()), energy.name
        solver = gridcut.LabelSolver(*arguments)
        judge_labels(solver.solve(), energy, energies, moves, counts, "LabelSolver")
        after = energy._replace(unary=energy.unary[:, ::-1].copy(), name=f"{energy.name}, updated")
        solver.update(unary=after.unary)
        judge_labels(solver.solve(), after, label_battery.all_energies(after), moves, counts, "LabelSolver")
    moves = label_battery.swap_moves(count)
    judge_labels(gridcut.alpha_beta_swap(*arguments, device=device), energy, energies, moves, counts, "alpha_beta_swap")


@rare_too
def test_labels(device, rare, counts):
    for energy in ENERGIES:
        if label_battery.is_rare(energy) == rare:
            judge_energy(energy, counts, device)


def judge_convex(energy, counts, device):
    energies = label_battery.all_energies(energy)
    result = gridcut.convex_labels(energy.unary, energy.weights, energy.cost, device=device)
    judge_labels(result, energy, energies, [lambda _: energies], counts, "convex_labels")
    least = np.array([labels for labels, value in energies.items() if value == result.energy])
    assert np.array_equal(result.labels.reshape(-1), least.max(0)), energy.name


@rare_too
def test_convex_labels(device, rare, counts):
    for seed in range(60):
        energy = label_battery.random_energy(seed, convex=True)
        if label_battery.is_rare(energy) == rare:
            judge_convex(energy, counts, device)


def binary_energy(seed):
    """A random energy, and whether it was drawn to be submodular."""
    rng = np.random.default_rng(seed)
    submodular, triples, is_float = rng.random(3) < (0.5, 0.5, 0.3)
    energy = gridcut.BinaryEnergy(
        **label_battery.random_binary(rng, submodular, submodular and triples, is_float, int(rng.choice([3, 9])))
    )
    return energy, submodular


def judge_binary(seed, counts, device):
    energy, submodular = binary_energy(seed)
    energies = label_battery.binary_energies(energy)
    least = min(energies.values())
    minima = np.array([labels for labels, value in energies.items() if value == least])
    where = f"seed {seed}"
    if submodular:
        found = gridcut.binary_minimum(energy, device=device)
        found.check()
        assert found.value == least, where
        assert np.array_equal(found.labels.reshape(-1), minima.max(0)), where
        assert np.array_equal(gridcut.binary_labels(energy, device=device), found.labels), where
        assert energy.value(found.labels) == least, where
        counts["binary_minimum, F3" if energy.triple else "binary_minimum, F2", "exhaustive"] += 1
    if not energy.triple:
        roof = gridcut.roof_duality(energy, device=device)
        roof.check()
        labels = roof.labels.reshape(-1)
        known = labels >= 0
        assert roof.bound <= least, where
        assert (minima[:, known] == labels[known]).all(), where
        assert not known.all() or roof.bound == least, where
        counts["roof_duality", "exhaustive"] += 1


@rare_too
def test_binary_energies(device, rare, counts):
    for seed in range(120):
        if label_battery.is_rare(binary_energy(seed)[0]) == rare:
            judge_binary(seed, counts, device)


@pytest.mark.slow  # kernels for two arcs per pixel, which every grid has; the labels of lines are rare ones, too
@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1), (3,), (2, 2), (2, 1, 2)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_pairs_one_pixel_one_label(shape, count, device):
    unary = np.random.default_rng(count).integers(-5, 5, (count, *shape))
    for result in label_results(unary, {}, device):
        result.check()
        if not isinstance(result, gridcut.RoofDual):
            assert result.energy == unary.min(0).sum()
    if count == 1:
        with pytest.raises(ValueError, match="two labels or more"):
            gridcut.convex_labels(unary, {}, [[0]], device=device)
        with pytest.raises(ValueError, match="unary must have shape"):
            gridcut.BinaryEnergy(unary)


# The long form


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(10))
def test_thorough_max_flow(part, counts):
    for seed in range(BASE + 400 * part, BASE + 400 * (part + 1)):
        instance = oracles.random_instance(seed)
        answer = solve_by_oracle(instance)
        for name, (solver, parameters) in oracles.ON_CPU.items():
            cut = gridcut.max_flow(*instance.arguments, mask=instance.mask, method=solver, **parameters)
            judge(cut, instance, answer, flow=name == "auto")
            counts[f"max_flow {name}", answer.oracle] += 1
        if not isinstance(instance.source, list):
            solve_with_updates(instance, np.random.default_rng(seed), counts, "cpu")


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_thorough_labels(part, counts):
    for seed in range(BASE + 150 * part, BASE + 150 * (part + 1)):
        energy = label_battery.random_energy(seed)._replace(name=f"seed {seed}")
        judge_energy(energy, counts, "cpu")
        energy = label_battery.random_energy(seed, convex=True)._replace(name=f"seed {seed}, convex")
        judge_convex(energy, counts, "cpu")
        judge_binary(seed, counts, "cpu")
