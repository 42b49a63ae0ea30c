"""Measure programs on one instance: alternately, certified, in a process that can be stopped.

A *bench* is a class that holds an instance and runs programs on it, here or in a process of its own:

    open(source)         read the instance; return (shape, entries, size), size None if programs may differ in it
    compile(program)     run a program on an instance where it cannot take long
    run(program, calls)  one run, as a NamedTuple with `seconds`, by which programs are compared, `wrong`, None or the
                         reason, and CLOCKS, the names of its other seconds; `calls`: time whole calls, too
    certify(program)     raises an error if the result of the last run is wrong
    cpu()                seconds and size of the reference on the CPU; only where `measure` is told to time it

Programs have a `name`.  Times are medians of rounds in which every program runs once, after each has been compiled and
has run once.  A running kernel cannot be interrupted, so that a program over the limit costs its process.
"""

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

PATIENCE = 300.0  # seconds to read an instance and transfer it to the GPU
COMPILING = 120.0  # seconds
STOPPED = float("inf")  # seconds of a program that exceeded the limit
CERTIFIED = "✓"
CPU = "CPU"  # name of the reference


@dataclass(slots=True)
class Measured:
    """What was measured on one instance, for each program by its name.

    state     "✓", "stopped", or what went wrong; the fields below hold the programs with "✓"
    ran       the run of (lower) median seconds, with medians of its other clocks
    least     minimum seconds
    runs      number of runs
    seconds   medians, those of the reference included; STOPPED for a program that was stopped
    """

    name: str
    shape: tuple[int, int]
    entries: int
    size: int | None
    state: dict[str, str] = field(default_factory=dict)
    ran: dict[str, NamedTuple] = field(default_factory=dict)
    least: dict[str, float] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def failures(self) -> dict[str, str]:
        """Programs that were wrong or failed, and how."""
        return {who: state for who, state in self.state.items() if state not in (CERTIFIED, "stopped")}

    def raise_failures(self) -> None:
        for who, state in self.failures.items():
            raise AssertionError(f"{self.name}: {who}: {state}")

    def note(self, who: str, runs: list) -> None:
        """Store the runs of one program."""
        by_seconds = sorted(runs, key=lambda run: run.seconds)
        kept = by_seconds[(len(runs) - 1) // 2]
        clocks = {clock: [getattr(run, clock) for run in runs] for clock in kept.CLOCKS}
        known = {clock: [value for value in values if value is not None] for clock, values in clocks.items()}
        self.ran[who] = kept._replace(**{clock: median(values) for clock, values in known.items() if values})
        self.least[who] = by_seconds[0].seconds
        self.runs[who] = len(runs)
        self.seconds[who] = median(run.seconds for run in runs)


def measure(
    name: str,
    worker: "Worker",
    programs: list,
    rounds: int,
    once_above: float,
    calls: int = 0,
    cpu: int = 0,
    patience: Callable = lambda program: 0.0,
    say: Callable = lambda *words: None,
) -> Measured:
    """Run every program on an instance, certify it once, and time those that are right.

    Programs that take more than `once_above` seconds are timed once.  Whole calls are timed in the first `calls`
    rounds, the reference in the first `cpu`.  `patience`: seconds that a program may take in addition to the limit.
    """
    result = Measured(name, *worker.open())
    taken = {program.name: [] for program in programs}

    def ask(program, warm_up):
        """A run, or None if it went wrong, with the program's state noted."""
        who = program.name
        first = not taken[who]
        try:
            if warm_up:
                worker.ask("compile", program, patience=COMPILING)
            run = worker.ask("run", program, len(taken[who]) < calls, patience=patience(program))
            wrong = run.wrong
            if wrong is None and first and not warm_up:
                worker.ask("certify", program, patience=PATIENCE)
            state = CERTIFIED if wrong is None else f"WRONG: {wrong}"
        except TimeoutError:
            state = "stopped"
            result.seconds[who] = STOPPED
        except RuntimeError as error:
            state = f"failed: {error}"
        result.state[who] = state
        if state != CERTIFIED:
            say(name, who, state)
            return None
        return run

    # The first run is not timed: it transfers the instance to the GPU, and finds caches empty.
    alive = [program for program in programs if ask(program, warm_up=True) is not None]
    reference = []
    if cpu:
        worker.ask("cpu", patience=PATIENCE)  # compiles
    for turn in range(rounds):
        if turn < cpu and (not reference or reference[0] < once_above):
            seconds, size = worker.ask("cpu", patience=PATIENCE)
            if size != result.size:
                raise AssertionError(f"{name}: the CPU finds {size} pairs, it found {result.size} before")
            reference.append(seconds)
        for program in list(alive):
            known = taken[program.name]
            if known and known[0].seconds > once_above:
                continue
            run = ask(program, warm_up=False)
            if run is None:
                alive.remove(program)
            else:
                known.append(run)
    worker.stop()
    if reference:
        result.seconds[CPU] = median(reference)
    for program in alive:
        result.note(program.name, taken[program.name])
        say(name, program.name, f"{1e3 * result.seconds[program.name]:.2f} ms")
    return result


class Worker:
    """A bench of class `kind`, in a process that is stopped if it does not answer within `limit` seconds.

    limit None: in this process, and never stopped

    ask   what a method returns; TimeoutError if the process was stopped, RuntimeError if it failed.  After both, the
          next question starts a new process
    """

    def __init__(self, source, limit: float | None, kind: type):
        self.source, self.limit, self.kind = source, limit, kind
        self.child = self.bench = None

    def open(self):
        return self._call(PATIENCE, "open", self.source)

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
        self.pipe, other_end = context.Pipe()
        self.child = context.Process(target=_serve, args=(other_end, self.kind), daemon=True)
        self.child.start()
        other_end.close()


def _serve(pipe, kind) -> None:
    bench = kind()
    while True:
        what, arguments = pipe.recv()
        try:
            pipe.send((True, getattr(bench, what)(*arguments)))
        except Exception as error:
            pipe.send((False, repr(error)))
