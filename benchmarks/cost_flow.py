"""`python -m benchmarks cost_flow`: minimum-cost flows against OR-tools and pylmcf (LEMON), on generated networks.

    grid       a grid with arcs in both directions; as many sources, and sinks, as nodes per side
    netgen     random arcs, 8 or 32 per node, and chains that make the problem feasible
    road       a planar grid of which a third of the roads is missing; costs are lengths
    transport  all arcs between sources and sinks in the plane; costs are distances

Every result of cutmatch is certified, and all values are compared, before times are printed: medians of --repeats
rounds in which all programs run alternately, one run for those that take over a second.  Each program starts from its
own arrays (OR-tools: with `add_arcs_with_capacity_and_unit_cost`; pylmcf: arcs sorted before).  pylmcf has no time
where it is not installed.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import assign
from benchmarks import baselines, command
from benchmarks.graph_instances import grid_edges
from benchmarks.table import markdown
from benchmarks.timing import rounds

SIZES = (10**4, 10**5, 10**6)  # arcs


def main(argv):
    options = _parser().parse_args(argv)
    report = command.begin("Minimum-cost flow", ["ortools", "pylmcf", "numba", "numpy"])
    assign.min_cost_flow(*grid(100, np.random.default_rng(0)))  # compiles
    rows = command.shown(
        measured(name, make(size, np.random.default_rng(size)), options)
        for size in options.sizes
        for name, make in FAMILIES.items()
    )
    columns = ["network", "nodes", "arcs", "cutmatch, ms", "OR-tools, ms", "pylmcf, ms"]
    columns += ["OR-tools / cutmatch", "pylmcf / cutmatch"]
    return command.finish(report, markdown(columns, rows), options.save)


def measured(name, network, options):
    """The row of a network."""
    programs = {"cutmatch": lambda: assign.min_cost_flow(*network)}
    programs |= {peer: program.prepare(*network) for peer, program in baselines.installed("cost flow").items()}
    found = programs["cutmatch"]()
    found.check()
    seconds, results = rounds(programs, options.repeats, once_above=1.0)
    results["cutmatch"] = results["cutmatch"].cost
    if set(results.values()) != {found.cost}:
        raise RuntimeError(f"{name}: the programs find {results}")
    peers = baselines.BASELINES["cost flow"]
    shown = [f"{1e3 * seconds[one]:.3g}" if one in seconds else "" for one in ("cutmatch", *peers)]
    shown += [f"{seconds[one] / seconds['cutmatch']:.2f}" if one in seconds else "" for one in peers]
    return [name, str(len(network[4])), str(len(network[0])), *shown]


def with_supplies(tail, head, capacity, cost, sources, sinks, amount, nodes):
    """The network, with an expensive arc from each source to a sink, so that it is feasible."""
    supply = np.zeros(nodes, np.int64)
    supply[sources], supply[sinks] = amount, -amount
    dear = np.full(len(sources), int(cost.sum() // max(1, len(cost))) * int(nodes**0.5) * 2)
    parts = (tail, sources), (head, sinks), (capacity, amount), (cost, dear)
    return *map(np.concatenate, parts), supply


def grid(arcs, rng):
    side = max(2, round((arcs / 4) ** 0.5))
    one, two = grid_edges(side, side)
    tail, head = np.concatenate([one, two]), np.concatenate([two, one])
    ends = rng.permutation(side * side)[: side // 2 * 2].reshape(2, -1)
    capacity, cost = rng.integers(1, 1001, len(tail)), rng.integers(1, 10_001, len(tail))
    return with_supplies(tail, head, capacity, cost, *ends, rng.integers(1, 200, ends.shape[1]), side * side)


def netgen(arcs, rng, degree=8):
    nodes = arcs // degree
    count = int(nodes**0.5)
    order, amount = rng.permutation(nodes), rng.integers(1, 1000, count)
    sources, sinks = order[:count], order[count : 2 * count]
    chains = [
        np.r_[source, inner, sink]
        for source, inner, sink in zip(sources, np.array_split(order[2 * count :], count), sinks, strict=True)
    ]
    tail, head = (np.concatenate([chain[part] for chain in chains]) for part in (np.s_[:-1], np.s_[1:]))
    capacity = np.repeat(amount, [len(chain) - 1 for chain in chains])
    more = arcs - len(tail)
    tail, head = np.append(tail, rng.integers(0, nodes, more)), np.append(head, rng.integers(0, nodes, more))
    supply = np.zeros(nodes, np.int64)
    supply[sources], supply[sinks] = amount, -amount
    return tail, head, np.append(capacity, rng.integers(1, 1001, more)), rng.integers(1, 10_001, arcs), supply


def road(arcs, rng):
    side = round((arcs / 2.6) ** 0.5)
    place = np.stack(np.divmod(np.arange(side * side), side), axis=1) + 0.6 * rng.random((side * side, 2))
    one, two = grid_edges(side, side)
    kept = rng.random(len(one)) < 0.65
    one, two = one[kept], two[kept]
    part = connected_components(coo_array((np.ones(len(one)), (one, two)), shape=(side * side,) * 2), directed=False)[1]
    inside = part == np.bincount(part).argmax()
    number, kept = np.cumsum(inside) - 1, inside[one]
    length = np.rint(1000 * np.linalg.norm(place[one[kept]] - place[two[kept]], axis=1)).astype(np.int64)
    one, two = number[one[kept]], number[two[kept]]
    count = int(inside.sum() ** 0.5 / 2)
    ends = rng.permutation(inside.sum())[: 2 * count].reshape(2, -1)
    tail, head, cost = np.append(one, two), np.append(two, one), np.append(length, length)
    capacity = rng.choice([2, 6, 20], len(tail)) * count
    return with_supplies(tail, head, capacity, cost, *ends, np.full(count, 10), inside.sum())


def transport(arcs, rng):
    side = int(arcs**0.5)
    tail, head = np.divmod(np.arange(side * side), side)
    place = rng.random((2, side, 2))
    cost = np.rint(10_000 * np.linalg.norm(place[0][tail] - place[1][head], axis=1)).astype(np.int64)
    given = rng.integers(1, 100, side)
    taken = rng.multinomial(given.sum(), np.full(side, 1 / side))
    return tail, head + side, np.full(side * side, int(given.sum())), cost, np.concatenate([given, -taken])


FAMILIES = {
    "grid": grid,
    "netgen, 8 arcs per node": netgen,
    "netgen, 32 arcs per node": lambda arcs, rng: netgen(arcs, rng, 32),
    "road": road,
    "transport": transport,
}


def _parser():
    parser = command.parser("cost_flow", __doc__, "cost-flow-cpu", repeats=5)
    parser.add_argument("--sizes", type=int, nargs="+", metavar="ARCS", default=SIZES, help="numbers of arcs")
    return parser
