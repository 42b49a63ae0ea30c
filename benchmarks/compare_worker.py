"""One checkout's side of `python -m benchmarks compare`: reads indices of cases, writes seconds.

Run as a script with -P, so that `import gridcut` finds the checkout in PYTHONPATH and not the files next to this one.
"""

import importlib
import json
import pickle
import sys
import time
from pathlib import Path

AT_LEAST = 0.03  # seconds that one answer is measured over


def warm(source, sink, edges):
    """A solver that is updated with a changed strip and solved again."""
    import gridcut

    return _solved_in_turn(gridcut.Solver(source, sink, edges), source)


def warm_graph(graph, source, sink):
    """The same with a sparse graph."""
    import gridcut

    return _solved_in_turn(gridcut.GraphSolver(graph, source, sink), source)


def _solved_in_turn(solver, source):
    solver.solve()
    changed = source.copy()
    changed[: max(1, len(changed) // 20)] += 40
    turn = [changed, source]

    def step():
        turn.reverse()
        solver.update(source=turn[0])
        return solver.solve()

    return step


def segment(photo, strokes):
    from apps import segment as run

    return lambda: run(photo, strokes=strokes)


def flow(first, second):
    from apps import flow as run

    return lambda: run(first, second)


def prepared(call, arguments, options):
    """The call as a function without arguments."""
    if call in globals():
        return globals()[call](*arguments, **options)
    module, name = call.split(".")
    function = getattr(importlib.import_module(module), name)
    return lambda: function(*arguments, **options)


def main(tree, cases):
    cases = pickle.loads(Path(cases).read_bytes())
    import gridcut

    assert Path(gridcut.__file__).is_relative_to(tree), f"{gridcut.__file__} is not of {tree}"
    known = {}
    for line in sys.stdin:
        number, certify = json.loads(line)
        if number not in known:
            known = {number: prepared(*cases[number][2:])}
        run = known[number]
        if certify:
            result = run()
            if hasattr(result, "check"):
                result.check()
            run()
        times, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < AT_LEAST or not times:
            run()
            times += 1
        print(json.dumps((time.perf_counter() - begin) / times), flush=True)


main(*sys.argv[1:])
