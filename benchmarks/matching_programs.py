"""Programs that compute maximum matchings, and benches (see harness.py) that run them on a CPU and on a GPU."""

import time
from typing import NamedTuple

import numpy as np

import matching
from benchmarks.baselines import BASELINES
from benchmarks.command import Stop
from benchmarks.matching_graphs import uniform
from benchmarks.matching_instances import read
from benchmarks.timing import timed
from matching.core.certificate import certify
from matching.methods import DEFAULT_METHOD, INITS, METHODS, default_init

TINY = 200  # rows of a graph to compile on; 9 for programs on a GPU


class Program(NamedTuple):
    """A name in tables, and the arguments of matching.maximum; method None: the baseline of that name.

    On a GPU, init "auto" is the initial matching that the method has by default.
    """

    name: str
    method: str | None = None
    init: str = "auto"
    parameters: dict = {}

    @property
    def how(self) -> dict:
        return {"method": self.method, "init": self.init, **self.parameters}


RELABELLINGS = (("adaptive", 0.3), ("adaptive", 0.7), ("adaptive", 1.5), ("fix", 10), ("fix", 50))
G_PR = ("g_pr_first", "g_pr_noshr", "g_pr_shr")
# name -> method and its parameters, on a GPU
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


def program_of(text: str, device: str = "cuda", **parameters) -> Program:
    """METHOD or METHOD+INIT as a Program, on a GPU also VARIANT and VARIANT+INIT; Stop for unknown names."""
    name, _, init = text.partition("+")
    init = init or "auto"
    methods = {name: (name, {}) for name in ("auto", *METHODS)}
    inits, where = ("auto", *INITS), ""
    if device == "cuda":
        methods = VARIANTS | {name: (name, {}) for name, entry in METHODS.items() if entry.cuda}
        inits = ("auto", "none", *(known for known, entry in INITS.items() if entry.cuda))
        where = " on CUDA"
    for kind, asked, known in (("method", name, methods), ("init", init, inits)):
        if asked not in known:
            listed = ", ".join(dict.fromkeys(known))
            raise Stop(2, f"benchmarks matching: no {kind} {asked!r}{where}; there are {listed}")
    method, own_parameters = methods[name]
    return Program(text, method, init, own_parameters | parameters)


class CpuRun(NamedTuple):
    """One run on the CPU: seconds from a SciPy matrix to a matching, and what was found; of a baseline, the pairs."""

    seconds: float
    pairs: int
    wrong: str | None
    method: str
    init_name: str
    stats: dict

    CLOCKS = ()

    @property
    def parts(self) -> dict:
        """Seconds by part."""
        seconds = self.stats.get("seconds")
        return {"solve": seconds["init"] + seconds["solve"]} if seconds else {}


class CpuBench:
    """A SciPy matrix, and runs of matching.maximum and of baselines on it."""

    def open(self, graph):
        self.graph, self.runs = graph, {}
        found = matching.maximum(graph, device="cpu", threads=1)
        found.check()
        self.size = found.cardinality
        return graph.shape, graph.nnz, self.size

    def compile(self, program: Program) -> None:
        self.runner(program, uniform(TINY, 2))()
        self.runs[program.name] = self.runner(program, self.graph)

    def runner(self, program: Program, graph):
        """A callable without arguments; baselines convert the graph here, before the clock starts."""
        if program.method is None:
            return BASELINES["matching"][program.name].prepare(graph)
        return lambda: matching.maximum(graph, **program.how)

    def run(self, program: Program, calls: bool = False) -> CpuRun:
        if program.name not in self.runs:  # this process was started after one that had to be stopped
            self.runs[program.name] = self.runner(program, self.graph)
        found, seconds = timed(self.runs[program.name])
        self.found = None if program.method is None else found
        pairs = found if self.found is None else found.cardinality
        wrong = None if pairs == self.size else f"{pairs} pairs, others found {self.size}"
        if self.found is None:
            return CpuRun(seconds, pairs, wrong, program.name, "-", {})
        return CpuRun(seconds, pairs, wrong, found.method, found.init, {**found.stats, "device": found.device})

    def certify(self, program: Program) -> None:
        if self.found is not None:
            self.found.check()


class GpuRun(NamedTuple):
    """One run on the GPU: seconds of its parts, and what was found.

    init, search   from a graph on the GPU to a matching there
    call           arrays on the GPU to arrays on the GPU, including validation and transposition; None: not timed
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

    CLOCKS = ("call", "whole")

    @property
    def seconds(self) -> float:
        return self.init + self.search

    @property
    def parts(self) -> dict:
        """Seconds by part."""
        return {part: getattr(self, part) for part in ("init", "search", "call", "whole")}


class GpuBench:
    """A graph, on the host and on the GPU, and runs on it."""

    def open(self, path):
        kept = read(path)
        return self.take(matching.bipartite_graph((kept.ptr, kept.adj, kept.shape)), kept.size)

    def take(self, graph, size: int):
        self.graph, self.size, self.held = graph, size, None
        return graph.shape, graph.edges, size

    def cpu(self):
        """Seconds of the CPU's default from a graph that is checked, and its pairs."""
        graph = matching.bipartite_graph(self.graph.by_row + (self.graph.shape,))  # without the transpose
        found, seconds = timed(lambda: matching.maximum(graph, device="cpu", threads=1))
        return seconds, found.cardinality

    def compile(self, program: Program) -> None:
        graph = matching.bipartite_graph(uniform(9, 2))
        tiny = type(self)()
        tiny.take(graph, matching.maximum(graph, device="cpu", threads=1).cardinality)
        tiny.run(program, calls=True)

    def run(self, program: Program, calls: bool) -> GpuRun:
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
        return GpuRun(*seconds, call, whole, pairs, wrong, method, init, stats)

    def calls(self, program: Program) -> tuple[float, float]:
        """Seconds of whole calls: arrays on the GPU to arrays there, and on the host to the host."""
        from gridcut.device.arrays import synchronize, upload

        ptr, adj = self.graph.by_row
        held = (upload(ptr.astype(np.int32 if adj.size < 2**31 else np.int64)), upload(adj), self.graph.shape)
        synchronize()

        def call():
            matching.maximum(held, device="cuda", **program.how)
            synchronize()

        _, on_gpu = timed(call)
        _, whole = timed(lambda: matching.maximum(self.graph, device="cuda", **program.how))
        return on_gpu, whole

    def certify(self, program: Program | None = None) -> None:
        certify(self.graph, *self.found)


def steps_of(program: Program):
    """(method, function of its initial matching or None, name of that, function of the search), all on the GPU."""
    method = DEFAULT_METHOD if program.method == "auto" else program.method
    init = default_init(method, "cuda") if program.init == "auto" else program.init
    initialise = INITS[init].cuda
    return method, initialise and initialise.function, init, METHODS[method].on("cuda").function
