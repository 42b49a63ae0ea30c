"""The commands that process inputs: options, one item or many, reports and summaries, the same for all.

A command's module defines a `Program`: its options, and a function that finds the inputs which they name.  The rest is
here: a single item, or a batch that continues when an item fails.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from apps.common import command
from apps.common.clock import Clock, command_age, elapsed_display, shown_seconds
from apps.common.command import check_threads, limited_threads, write_json
from apps.common.errors import (
    DEFECT,
    SOME_FAILED,
    InputError,
    ending,
    one_line,
    print_error,
    print_lines,
)
from apps.common.outputs import Outputs
from apps.run.inputs import Item

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
    """

    name: str
    text: str
    noun: str
    inputs: tuple[str, ...]
    add_options: Callable[[ArgumentParser], None]
    plan: Callable[[Namespace], Work]

    def main(self, argv: list[str] | None = None) -> int:
        """Run the command (default: with the process's arguments) and return its exit status."""
        with ending(f"cutmatch {self.name}") as end:
            end.status = self.run(argv)
        return end.status

    def run(self, argv: list[str] | None) -> int:
        """Run the command and return its exit status; raises an error that ends the run.

        The error of a single item ends the run, that of one of many does not stop the others.
        """
        clock = Clock(command_age(argv))
        run = _Run(self, command.parsed(self.parser(), argv), clock)
        return run.process_many() if run.is_batch else run.process_one()

    def parser(self) -> ArgumentParser:
        """Parser of the options."""
        options = command.parser(self.name, self.text + EXIT_STATUS)
        self.add_options(options)
        command.add_shared_options(options, self.name)
        return options


def report_of(named: dict, shape: Sequence[int], seconds: Mapping[str, float], files: Mapping, **facts) -> dict:
    """The report of an item: its name by noun, the size of its image or volume, facts, and what all reports have."""
    sizes = dict(zip(("width", "height", "depth"), shape[::-1], strict=False))
    return named | sizes | facts | {"seconds": seconds, "files": {kind: str(path) for kind, path in files.items()}}


def line_of(report: Mapping, *facts: str) -> str:
    """The line of an item: its name, the size of its image, facts, seconds, and its first file."""
    name, file = next(iter(report.values())), next(iter(report["files"].values()), "")
    size = [f"{report['width']}x{report['height']}"] if "width" in report else []
    return f"{name}: {', '.join([*size, *facts, shown_seconds(report['seconds'])])} -> {file}"


def mean_scores(reports: list[dict], *names: str) -> list[float]:
    """Means of the scores of these names over the reports with a ground truth; an empty list if there are none."""
    scored = [report["truth"] for report in reports if "truth" in report]
    return [sum(scores[name] for scores in scored) / len(scored) for name in names] if scored else []


def frame_bar(chosen: Namespace, what: str, total: int | None = None):
    """Function that shows the progress of an iteration over the frames of a sequence; several share the run's bar."""
    from tqdm import tqdm

    hidden = True if chosen.quiet or chosen.many else None  # None: unless it is a terminal, as bars would fill a log
    return partial(tqdm, desc=what, total=total, unit="frame", disable=hidden, file=sys.stderr, leave=False)


class _Run:
    """One run of a program: its options and items, checked, and what all of them share.

    clock   began with the command
    """

    def __init__(self, program: Program, chosen: Namespace, clock: Clock):
        self.program, self.chosen, self.clock = program, chosen, clock
        self.options = dict(vars(chosen))  # as they were parsed
        check_threads(chosen.threads)
        command.check_device(chosen.device)
        self.work = program.plan(chosen)
        if chosen.workers is not None and chosen.workers < 1:
            raise InputError(f"--workers must be 1 or more, got {chosen.workers}")
        self.is_batch = self.work.many or chosen.resume or (chosen.workers, chosen.scheduler) != (None, None)
        chosen.many = self.is_batch
        self.outputs = Outputs(chosen, program.inputs)
        if self.is_batch:
            self.outputs.named |= self.work.named
        has_records = any(Path(chosen.out).glob(f"*-{program.name}.json"))
        self.outputs.check_named(has_records, chosen.resume)

    def process_one(self) -> int:
        """Process the only item and return the exit status; raises its error."""
        noun, task = self.program.noun, self._task(0, self.work.items[0])
        limit = nullcontext() if self.chosen.threads is None else limited_threads(self.chosen.threads)
        with elapsed_display(self.chosen.quiet), limit:
            from apps.run.records import performed

            report, _ = performed(task, self.clock)
        self._write_page({f"{noun}s": [{**report, noun: task.shown}], "failures": []})
        if self.chosen.json:
            write_json(self.chosen.json, report)
        self._end([self.work.line(report)])
        return 0

    def process_many(self) -> int:
        """Process all items and return the exit status; a failed item is reported and does not stop the others."""
        from apps.run.engines import FAILED, SKIPPED

        noun, chosen, work = self.program.noun, self.chosen, self.work
        total = len(self.work.items) if isinstance(self.work.items, list) else work.total
        outcomes: list = []
        with self._bar(total) as bar, closing(_engine(self._tasks(outcomes), total, work, chosen)) as engine:
            for outcome in engine:
                outcomes.append(outcome)
                bar.update(len(outcomes) - bar.n)
        outcomes.sort(key=lambda outcome: outcome.number)
        done = [outcome for outcome in outcomes if outcome.status != FAILED]
        for outcome in done:
            outcome.report[noun] = outcome.shown  # a record may be from a run in another folder
        reports = [outcome.report for outcome in done]
        failures = [{noun: one.shown, "error": one.reason} for one in outcomes if one.status == FAILED]
        content = {f"{noun}s": reports, "failures": failures}
        skipped = [outcome.shown for outcome in done if outcome.status == SKIPPED]
        content |= {"skipped": skipped} if chosen.resume else {}
        problem = None
        for end in (lambda: content.update(work.finish(reports)), lambda: self._write_page(content)):
            try:
                end()
            except (InputError, OSError) as error:  # the finished items are reported nevertheless
                problem = problem or error
        content["elapsed"] = self.clock.total()["total"]
        if chosen.json and chosen.json != "-":
            write_json(chosen.json, content)
        lines = [work.line(outcome.report) for outcome in done if outcome.status != SKIPPED]
        left_out = f"{len(skipped)} skipped, " if chosen.resume else ""
        lines.append(f"{len(lines)} done, {left_out}{len(failures)} failed{work.summary(reports)}")
        self._end(lines)
        for failure in failures:
            print_error(f"cutmatch {self.program.name}: {failure[noun]}: {failure['error']}")
        if chosen.json == "-":
            write_json(chosen.json, content)
        if problem is not None:
            raise problem
        return DEFECT if any(one.defect for one in outcomes) else SOME_FAILED if failures else 0

    def _tasks(self, outcomes: list) -> Iterator:
        """The tasks of the items; those of items that cannot be processed become outcomes at once."""
        from apps.run.engines import failed

        number = -1
        try:
            for number, item in enumerate(self.work.items):
                try:
                    task = self._task(number, item)
                except Exception as error:  # an error of one item must not stop the others
                    outcomes.append(failed(number, item.shown, error))
                    continue
                yield task
        except Exception as error:  # such as a truncated video
            outcomes.append(failed(number + 1, f"{self.program.noun} {number + 2} and all after it", error))

    def _task(self, number: int, item: Item):
        from apps.run.engines import Task

        named = number, item.name, item.shown, self.program.name
        return Task(*named, self.work.process, item.job(), self.chosen, self.outputs, item.source, self.options)

    def _write_page(self, content: dict) -> None:
        """Write the page of --report, if requested, from the content of the JSON of a batch."""
        if self.chosen.report:
            from apps.run.report_page import write_page

            summary = self.work.summary(content[f"{self.program.noun}s"]).lstrip("; ")
            of = self.chosen.report, self.program.name, self.program.noun
            write_page(*of, content, self.options, summary, self.clock.total()["total"])

    def _end(self, lines: list[str]) -> None:
        """Print the lines; the last one with the whole time."""
        if not self.chosen.quiet and self.chosen.json != "-":
            lines[-1] += f"; {self.clock.total()['total']:.2f} s in total"
            print_lines(*map(one_line, lines))

    def _bar(self, total: int | None):
        """A bar of the finished items, on a terminal."""
        from tqdm import tqdm

        hidden = True if self.chosen.quiet or sys.stderr is None else None  # None: unless it is a terminal
        return tqdm(total=total, unit=self.program.noun, file=sys.stderr, disable=hidden)


def _engine(tasks, items: int | None, work: Work, chosen: Namespace):
    """Outcomes of tasks, run in threads, processes or on a cluster as the options specify."""
    from apps.run import engines

    if chosen.scheduler is not None:
        return engines.on_cluster(tasks, chosen.scheduler, chosen.threads or 1)
    if chosen.workers is not None:
        workers = min(chosen.workers, MAX_WORKERS if items is None else max(1, items))
        return engines.in_processes(tasks, engines.environments(workers, chosen.threads, chosen.device), chosen.out)
    total = check_threads(chosen.threads)
    concurrent_items = 1 if work.threads_per_item is None else max(1, total // work.threads_per_item)
    each = None
    if chosen.threads is not None or concurrent_items > 1:
        each = max(1, total // concurrent_items)
    return engines.in_threads(tasks, concurrent_items, each)
