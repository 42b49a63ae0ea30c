"""Programs that match on a GPU, run and timed alternately: what `python -m benchmarks matching --device cuda` prints.

They run in a process of their own, which is stopped when a run takes too long: a kernel that hangs cannot be left, and
costs one row.  Rounds in which every program runs once begin after each has been compiled and has run once.
"""

import multiprocessing
import time
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import numpy as np

import matching
from benchmarks.matching_cuda_instances import read
from benchmarks.matching_instances import uniform
from benchmarks.matching_runs import STOPPED
from matching.core.certificate import CertificateError, certify
from matching.methods import DEFAULT_METHOD, INITS, METHODS, default_init

PATIENCE = 300.0  # seconds for reading a graph and bringing it to the GPU
COMPILING = 120.0
CPU = "CPU"  # name of the CPU's default


class Program(NamedTuple):
    """A way to a maximum matching on the GPU, and its name in tables; init "auto" is what the method has before it."""

    name: str
    method: str
    init: str
    parameters: dict


RELABELLINGS = (("adaptive", 0.3), ("adaptive", 0.7), ("adaptive", 1.5), ("fix", 10), ("fix", 50))
G_PR = ("g_pr_first", "g_pr_noshr", "g_pr_shr")
# name -> method and its parameters
VARIANTS = {"auto": ("auto", {})}
VARIANTS |= {
    f"{name}-{search}-{grid}": (name, {"search": search, "grid": grid})
    for name in ("apfb", "apsb")
    for search in ("gpubfs", "gpubfs_wr")
    for grid in ("mt", "ct")
}
VARIANTS |= {f"{name}-{how}-{k}": (name, {"relabel": (how, k)}) for name in G_PR for how, k in RELABELLINGS}
VARIANTS |= {
    "ms_bfs_graft": ("ms_bfs_graft", {}),
    "ms_bfs_graft-top_down": ("ms_bfs_graft", {"direction_optimising": False}),
    "ms_bfs_graft-anew": ("ms_bfs_graft", {"grafting": False}),
}


def program_of(text: str, init: str = "auto") -> Program:
    """VARIANT or VARIANT+INIT, or a method with its own parameters, as a program; ValueError if there is none."""
    name, _, own = text.partition("+")
    on_cuda = {name: (name, {}) for name, entry in METHODS.items() if entry.cuda}
    method, parameters = (on_cuda | VARIANTS).get(name, (None, None))
    inits = ("auto", "none", *(known for known, entry in INITS.items() if entry.on_gpu))
    for kind, asked, there in (("method", name, (*VARIANTS, *on_cuda)), ("init", own or init, inits)):
        if asked not in there:
            raise ValueError(f"no {kind} {asked!r} on CUDA; there are {', '.join(dict.fromkeys(there))}")
    return Program(text, method, own or init, parameters)


class Ran(NamedTuple):
    """One run: seconds of its parts, and what was found.

    init, search   on the GPU, the graph there
    call           arrays on the GPU to arrays on the GPU, None if not asked for: check and transposition included
    whole          arrays on the host to arrays on the host, likewise
    wrong          None, or why the matching is not as large as the CPU's
    """

    init: float
    search: float
    call: float | None
    whole: float | None
    pairs: int
    wrong: str | None
    method: str
    init_name: str
    stats: dict

    @property
    def seconds(self) -> float:
        return self.init + self.search


class Bench:
    """A graph, on the host and on the GPU, and runs on it."""

    def open(self, path):
        kept = read(path)
        self.size = kept.size
        self.graph = matching.bipartite_graph((kept.ptr, kept.adj, kept.shape))
        self.held = None
        return self.graph.shape, self.graph.edges, self.size

    def cpu(self):
        """Seconds of the CPU's default from a graph that is checked, and its pairs."""
        graph = matching.bipartite_graph(self.graph.by_row + (self.graph.shape,))  # not transposed before
        begin = time.perf_counter()
        found = matching.maximum(graph, device="cpu", threads=1)
        return time.perf_counter() - begin, found.cardinality

    def compile(self, program: Program):
        """Run on a graph where it cannot take long."""
        tiny = Bench()
        tiny.graph = matching.bipartite_graph(uniform(9, 2))
        tiny.size = matching.maximum(tiny.graph, device="cpu", threads=1).cardinality
        tiny.held = None
        tiny.run(program, calls=True)

    def run(self, program: Program, calls: bool) -> Ran:
        """One run.  calls: time whole calls, too."""
        from gridcut.device.arrays import download, synchronize, upload
        from matching.core.problem_cuda import uploaded

        if self.held is None:
            self.held = uploaded(self.graph)
        call, whole = self.calls(program) if calls else (None, None)
        method, fill, init, search = steps_of(program)
        row, col = (upload(np.full(n, -1, np.int32)) for n in self.graph.shape)
        synchronize()
        begin = time.perf_counter()
        if fill is not None:
            fill(self.held, row, col)
        synchronize()
        seconds = [time.perf_counter() - begin]
        missing = self.size - int(np.count_nonzero(download(row) >= 0))
        begin = time.perf_counter()
        stats = search(self.held, row, col, **program.parameters)
        synchronize()
        seconds.append(time.perf_counter() - begin)
        row, col = (download(a)[:n] for a, n in zip((row, col), self.graph.shape, strict=True))
        stats = {**stats, "missing": missing}
        self.found = row, col
        pairs, others = (int(np.count_nonzero(match >= 0)) for match in self.found)
        wrong = None if pairs == others == self.size else f"{pairs} pairs of {self.size}"
        return Ran(*seconds, call, whole, pairs, wrong, method, init, stats)

    def calls(self, program: Program) -> tuple[float, float]:
        """Seconds of whole calls: arrays on the GPU to arrays there, and on the host to the host."""
        from gridcut.device.arrays import synchronize, upload

        ptr, adj = self.graph.by_row
        there = (upload(ptr.astype(np.int32 if adj.size < 2**31 else np.int64)), upload(adj), self.graph.shape)
        synchronize()
        how = {"method": program.method, "init": program.init, "device": "cuda", **program.parameters}
        begin = time.perf_counter()
        matching.maximum(there, **how)
        synchronize()
        call = time.perf_counter() - begin
        begin = time.perf_counter()
        matching.maximum(self.graph, **how)
        return call, time.perf_counter() - begin

    def prove(self) -> str | None:
        """Why the matching found last is none, or not maximum, by a certificate on the host; None if it is."""
        try:
            certify(self.graph, *self.found)
        except CertificateError as error:
            return str(error)
        return None


def steps_of(program: Program):
    """(method, function of its initial matching or None, name of that, function of the search), all on the GPU."""
    method = DEFAULT_METHOD if program.method == "auto" else program.method
    init = default_init(method, "cuda") if program.init == "auto" else program.init
    return method, INITS[init].on_gpu, init, METHODS[method].on_gpu


class Worker:
    """A Bench, or another class, in a process that is stopped when it is silent for too long.

    limit None: in this process, and never stopped

    ask   what a method returns; TimeoutError if it was stopped, RuntimeError if it failed, after both of
          which the next question starts a new one
    """

    def __init__(self, path, limit: float | None, kind=Bench):
        self.path, self.limit, self.kind = path, limit, kind
        self.child = self.bench = None

    def open(self):
        return self._call(PATIENCE, "open", self.path)

    def ask(self, what: str, *arguments, patience: float = 0.0):
        if self.child is None and self.bench is None:
            self.open()
        return self._call((self.limit or 0.0) + patience, what, *arguments)

    def stop(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.join(30)  # the driver may take its time
            self.child = None
        self.bench = None

    def _call(self, seconds: float, what: str, *arguments):
        if self.limit is None:
            self.bench = self.bench or self.kind()
            return getattr(self.bench, what)(*arguments)
        if self.child is None:
            self._start()
        try:
            self.pipe.send((what, arguments))
            if not self.pipe.poll(seconds):
                raise TimeoutError
            fine, found = self.pipe.recv()
        except (EOFError, BrokenPipeError):
            fine, found = False, "the process ended"
        except TimeoutError:
            self.stop()
            raise
        if not fine:
            self.stop()
            raise RuntimeError(found)
        return found

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        self.child = context.Process(target=_serve, args=(there, self.kind), daemon=True)
        self.child.start()
        there.close()


def _serve(pipe, kind) -> None:
    bench = kind()
    while True:
        what, arguments = pipe.recv()
        try:
            pipe.send((True, getattr(bench, what)(*arguments)))
        except Exception as error:
            pipe.send((False, repr(error)))


@dataclass(slots=True)
class Measured:
    """What was measured on one graph, for each program by its name.

    state     "✓", "stopped", or what went wrong; the programs below are those with "✓"
    ran       the last run, its seconds being medians
    least     least seconds on the card
    runs      how many
    seconds   on the card, initial matching included, and of the CPU; STOPPED where a program was
    """

    name: str
    shape: tuple[int, int]
    entries: int
    size: int
    state: dict[str, str] = field(default_factory=dict)
    ran: dict[str, Ran] = field(default_factory=dict)
    least: dict[str, float] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def measure(name, path, programs, options, say=lambda *words: None) -> Measured:
    """Certify every program on a graph, then run those that are right alternately."""
    worker = Worker(path, options.timeout)
    shape, entries, size = worker.open()
    result = Measured(name, shape, entries, size)
    taken = {}

    def ask(program, prove):
        """A run, or None and the program's state if it went wrong."""
        turn = len(taken.get(program.name, ()))
        try:
            if result.state.get(program.name) is None:
                worker.ask("compile", program, patience=COMPILING)
            ran = worker.ask("run", program, turn < options.calls)
            wrong = ran.wrong or (worker.ask("prove", patience=PATIENCE) if prove else None)
            state = "✓" if wrong is None else f"WRONG: {wrong}"
        except TimeoutError:
            state = "stopped"
            result.seconds[program.name] = STOPPED
        except RuntimeError as error:
            state = f"failed: {error}"
        result.state[program.name] = state
        if state != "✓":
            say(name, program.name, state)
            return None
        return ran

    # The clock of the first run is not looked at: it brings the graph to the GPU, and finds caches empty.
    alive = [p for p in programs if ask(p, prove=False) is not None]
    cpu = []
    if options.cpu:
        worker.ask("cpu", patience=PATIENCE)  # compiles
    for turn in range(options.runs):
        if turn < options.cpu and (not cpu or cpu[0] < options.time_once_above):
            seconds, pairs = worker.ask("cpu", patience=PATIENCE)
            if pairs != size:
                raise AssertionError(f"{name}: the CPU finds {pairs} pairs, it found {size} before")
            cpu.append(seconds)
        for program in list(alive):
            known = taken.setdefault(program.name, [])
            if known and known[0].seconds > options.time_once_above:
                continue
            ran = ask(program, prove=turn == 0)
            if ran is None:
                alive.remove(program)
            else:
                known.append(ran)
    worker.stop()
    if cpu:
        result.seconds[CPU] = median(cpu)
    for program in alive:
        note(result, program.name, taken[program.name])
        say(name, program.name, f"{1e3 * result.seconds[program.name]:.2f} ms")
    return result


def note(result: Measured, who: str, runs: list) -> None:
    """Medians of the runs of one program."""

    def middle(of):
        known = [value for value in map(of, runs) if value is not None]
        return median(known) if known else None

    init, search = middle(lambda r: r.init), middle(lambda r: r.search)
    result.ran[who] = runs[-1]._replace(
        init=init, search=search, call=middle(lambda r: r.call), whole=middle(lambda r: r.whole)
    )
    result.least[who] = min(r.seconds for r in runs)
    result.runs[who] = len(runs)
    result.seconds[who] = middle(lambda r: r.seconds)
