"""The commands that process inputs: options, one item or many, reports and summaries, the same for all.

A command's module defines a `Program`: its options, and a function that finds the inputs which they name.  The rest is
here: a single item, or a batch that continues when an item fails.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from apps.common import command
from apps.common.clock import START, Clock, charge, command_age, elapsed_display, whole_clock
from apps.common.command import check_threads, limited_threads, write_json
from apps.common.errors import (
    DEFECT,
    SOME_FAILED,
    InputError,
    finish,
    is_defect,
    one_line,
    print_error,
    print_lines,
    reason_of,
)
from apps.common.outputs import Outputs, check_regular_files
from apps.many.inputs import Item
from apps.many.progress import Progress

EXIT_STATUS = """
Exit status: 0 done, 1 some of several inputs failed or the disk is full, 2 the input cannot be used, 70 a defect in
cutmatch, 130 stopped by Ctrl-C.
"""
MAX_WORKERS = 1024  # if the number of items is unknown


class Work(NamedTuple):
    """The items of one run, and the functions that process them.

    items      drawn on demand
    many       whether to process them as a batch: several inputs, or a folder
    process    module-level function (job, chosen) -> report, a dict with "files", paths below --out
    line       report -> line to print
    summary    reports -> text after "N done, M failed", may be empty
    total      number of items, if known
    threads_per_item   threads that one item uses; None: all
    finish     reports -> further entries of the JSON of a batch; called once with all reports
    one_only   {option: error message}, for options that apply to a single item
    named      {option: file of a whole batch that it requests}, which `finish` writes
    """

    items: Iterable[Item]
    many: bool
    process: Callable[[Any, Namespace], dict]
    line: Callable[[dict], str]
    summary: Callable[[list[dict]], str] = lambda reports: ""
    total: int | None = None
    threads_per_item: int | None = 1
    finish: Callable[[list[dict]], dict] = lambda reports: {}
    one_only: Mapping[str, str] = {}
    named: Mapping[str, Path] = {}


@dataclass(frozen=True, slots=True)
class Program:
    """A command that processes inputs.

    name          for messages and records
    text          start of the help, before the exit statuses
    noun          kind of an item, such as "image" or "pair"; key of its name in the reports of a batch
    inputs        options that name inputs, which the jobs represent
    add_options   adds the options to a parser
    plan          options -> Work; raises InputError for options and inputs that cannot be used
    has_batches   whether the command accepts many inputs
    """

    name: str
    text: str
    noun: str
    inputs: tuple[str, ...]
    add_options: Callable[[ArgumentParser], None]
    plan: Callable[[Namespace], Work]
    has_batches: bool = True

    def main(self, argv: list[str] | None = None) -> int:
        """Run the command (default: with the process's arguments) and return its exit status."""
        return finish(f"cutmatch {self.name}", self.run, argv)

    def run(self, argv: list[str] | None) -> int:
        """Run the command and return its exit status; raises an error that ends the run."""
        with whole_clock(command_age(argv)) as clock:
            chosen = command.parsed(self.parser(), argv)
            options = dict(vars(chosen))
            check_threads(chosen.threads)
            command.check_device(chosen.device)
            work = self.plan(chosen)
            if not (self.has_batches and command.in_batch(work.many, chosen)):
                return run_one(self, work, chosen, options, clock)
            for option, message in work.one_only.items():
                if command.passed(chosen, option):
                    raise InputError(message)
            return run_many(self, work, chosen, options, clock)

    def parser(self) -> ArgumentParser:
        """Parser of the options."""
        options = command.parser(self.name, self.text + EXIT_STATUS)
        self.add_options(options)
        if self.has_batches:
            command.add_batch_options(options)
        command.add_shared_options(options, "out")
        command.add_record_option(options, self.name)
        return options


def report_of(named: dict, shape: Sequence[int], seconds: Mapping[str, float], files: Mapping, **facts) -> dict:
    """The report of an item: its name by noun, the size of its image or volume, facts, and what all reports have."""
    sizes = dict(zip(("width", "height", "depth"), shape[::-1], strict=False))
    rounded = {stage: round(value, 4) for stage, value in seconds.items()}
    return named | sizes | facts | {"seconds": rounded, "files": {kind: str(path) for kind, path in files.items()}}


def mean_scores(reports: list[dict], *names: str) -> list[float]:
    """Means of the scores of these names over the reports with a ground truth; an empty list if there are none."""
    scored = [report["truth"] for report in reports if "truth" in report]
    return [sum(scores[name] for scores in scored) / len(scored) for name in names] if scored else []


def run_one(program: Program, work: Work, chosen: Namespace, options: dict, clock: Clock) -> int:
    """Process a single item, write its JSON and print its line; raises the item's error.

    options   as they were parsed
    clock     began with the command
    """
    from apps.many.result_record import add_files, complete, given, own_files, with_record
    from apps.many.task import Task

    item = with_record(work.items[0], program.name, chosen)
    outputs = Outputs(program.name, chosen, program.inputs, partial(own_files, program.name, chosen))
    outputs.check([item])
    job = item.job()
    check_regular_files(job)
    outputs.check_job(item, job)
    task = Task(0, item.name, item.shown, program.name, work.process, job, chosen, program.inputs, item.source, options)
    limit = nullcontext() if chosen.threads is None else limited_threads(chosen.threads)
    try:
        with elapsed_display(chosen.quiet), limit:
            charge(START)
            inputs = given(task)
            report = work.process(job, chosen)
            complete(task, report, inputs, clock)
            content = {f"{program.noun}s": [{**report, program.noun: item.shown}], "failures": []}
            _write_page(program, work, chosen, options, content, clock)
    except MemoryError as error:
        raise MemoryError(f"{item.shown}: {reason_of(error)}") from None
    if chosen.json:
        write_json(chosen.json, report)
    if chosen.record:
        add_files([report], outputs.named.values())
    if not chosen.quiet and chosen.json != "-":
        print_lines(one_line(f"{work.line(report)}; {clock.total()['total']:.2f} s in total"))
    return 0


def run_many(program: Program, work: Work, chosen: Namespace, options: dict, clock: Clock) -> int:
    """Process all items and return the exit status; a failed item is reported and does not stop the others.

    options   as they were parsed
    clock     began with the command
    """
    from apps.many.result_record import add_files, own_files, with_record
    from apps.many.task import FAILED, SKIPPED, Task

    outputs = Outputs(program.name, chosen, program.inputs, partial(own_files, program.name, chosen))
    noun = program.noun
    known = isinstance(work.items, list)
    first, items = ((), work.items) if known else _begun(work.items)
    outputs.named |= work.named
    outputs.check([with_record(item, program.name, chosen) for item in work.items] if known else (), first)
    del first  # it may hold frames
    outcomes, failures, defects = [], {}, []

    def fail(number, shown, reason):
        failures[number] = {noun: shown, "error": reason}
        progress.update()

    def tasks():
        number = -1
        try:
            for number, item in enumerate(items):
                item = with_record(item, program.name, chosen)
                try:
                    if item.name in outputs.unwritable:
                        raise outputs.unwritable[item.name]
                    job = item.job()
                    if not known:
                        outputs.check_item(item, job)
                    outputs.check_job(item, job)
                except Exception as error:  # an error of one item must not stop the others
                    defects.append(is_defect(error))
                    fail(number, item.shown, reason_of(error))
                    continue
                named = number, item.name, item.shown, program.name
                yield Task(*named, work.process, job, chosen, program.inputs, item.source, options)
        except Exception as error:  # such as a truncated video
            defects.append(is_defect(error))
            fail(number + 1, f"{noun} {number + 2} and all after it", reason_of(error))

    with ExitStack() as stack:
        total = len(work.items) if known else work.total
        progress = stack.enter_context(Progress(program.name, noun, total, chosen.quiet))
        for outcome in stack.enter_context(closing(_engine(tasks(), total, chosen, work.threads_per_item))):
            if outcome.status == FAILED:
                defects.append(outcome.defect)
                tried = f" (tried {outcome.attempts} times)" if outcome.attempts > 1 else ""
                fail(outcome.number, outcome.shown, outcome.reason + tried)
            else:
                outcome.report[noun] = outcome.shown  # a record may be from a run in another folder
                outcomes.append(outcome)
                progress.update()
    outcomes.sort(key=lambda outcome: outcome.number)
    reports = [outcome.report for outcome in outcomes]
    skipped = [outcome.shown for outcome in outcomes if outcome.status == SKIPPED]
    content = {f"{noun}s": reports, "failures": [failures[number] for number in sorted(failures)]}
    content |= {"skipped": skipped} if chosen.resume else {}
    problem = None
    for end in (
        lambda: content.update(work.finish(reports)),
        lambda: _write_page(program, work, chosen, options, content, clock),
    ):
        try:
            end()
        except (InputError, OSError) as error:  # the finished items are reported nevertheless
            problem = problem or error
    content["elapsed"] = round(clock.total()["total"], 4)
    if chosen.json and chosen.json != "-":
        write_json(chosen.json, content)
    if chosen.record:
        add_files(reports, outputs.named.values())
    if not chosen.quiet and chosen.json != "-":
        lines = [work.line(outcome.report) for outcome in outcomes if outcome.status != SKIPPED]
        left_out = f"{len(skipped)} skipped, " if chosen.resume else ""
        lines.append(f"{len(reports) - len(skipped)} done, {left_out}{len(failures)} failed{work.summary(reports)}")
        lines[-1] += f"; {clock.total()['total']:.2f} s in total"
        print_lines(*map(one_line, lines))
    for failure in content["failures"]:
        print_error(f"cutmatch {program.name}: {failure[noun]}: {failure['error']}")
    if chosen.json == "-":
        write_json(chosen.json, content)
    if problem is not None:
        raise problem
    return DEFECT if any(defects) else SOME_FAILED if failures else 0


def _begun(items: Iterable[Item]) -> tuple[list[Item], Iterable[Item]]:
    """The first item, if there is one, and all items, which raise the error that came before it."""
    items = iter(items)
    try:
        first = list(islice(items, 1))
    except Exception as error:
        return [], _raising(error)
    return first, chain(first, items)


def _raising(error: Exception):
    raise error
    yield


def _write_page(program: Program, work: Work, chosen: Namespace, options: dict, content: dict, clock: Clock) -> None:
    """Write the page of --report, if requested, from the content of the JSON of a batch."""
    if program.has_batches and chosen.report:
        from apps.many.html_report import write_page

        summary = work.summary(content[f"{program.noun}s"]).lstrip("; ")
        write_page(chosen.report, program.name, program.noun, content, options, summary, clock.total()["total"])


def _engine(tasks, items: int | None, chosen, threads_per_item: int | None):
    """Outcomes of tasks, run in threads, processes or on a cluster as the options specify."""
    if chosen.scheduler is not None:
        from apps.many import cluster

        return cluster.run(tasks, chosen.scheduler, chosen.threads or 1)
    if chosen.workers is not None:
        from apps.many import processes

        workers = min(chosen.workers, MAX_WORKERS if items is None else max(1, items))
        return processes.run(tasks, processes.environments(workers, chosen.threads, chosen.device))
    from apps.many import threads

    total = check_threads(chosen.threads)
    concurrent_items = 1 if threads_per_item is None else max(1, total // threads_per_item)
    each = None
    if chosen.threads is not None or concurrent_items > 1:
        each = max(1, total // concurrent_items)
    return threads.run(tasks, concurrent_items, each)
