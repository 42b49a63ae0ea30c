"""Many inputs in one run: finding them, what belongs to each, and going on when one of them fails."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from apps.clock import ticking
from apps.command import SOME_FAILED, write_json
from apps.images import READABLE, InputError


class Item(NamedTuple):
    """One of many: the name of its results, what is shown of it, and what finds all that belongs to it."""

    name: str
    shown: str
    job: Callable[[], object]


def pictures_of(names, argument: str = "image") -> tuple[list[Path], bool]:
    """The pictures named, folders opened, and whether to treat them as a batch.

    Raises InputError, naming the argument, for a folder without pictures or two pictures of one name.
    """
    found = []
    for name in names:
        path = Path(name)
        found += pictures_in(path, argument) if path.is_dir() else [path]
    refuse_namesakes(found, argument)
    return found, len(found) > 1 or Path(names[0]).is_dir()


def pictures_in(folder: Path, argument: str = "image") -> list[Path]:
    """The pictures of a folder by name; InputError when there is none."""
    inside = sorted(p for p in folder.iterdir() if p.suffix.lower() in READABLE and not p.name.startswith("."))
    if not inside:
        raise InputError(f"{argument}: folder {str(folder)!r} holds no picture ({', '.join(READABLE[:5])}, ...)")
    return inside


def pairs_of(one, other, arguments: tuple[str, str]) -> tuple[list[tuple[Path, Path]], bool]:
    """Two pictures, or the pictures of one folder each with that of its name in another, and whether they are many.

    Raises InputError, naming the arguments, for a folder and a picture, and for pictures without a partner.
    """
    one, other = Path(one), Path(other)
    if one.is_dir() != other.is_dir():
        folder, single = arguments if one.is_dir() else arguments[::-1]
        raise InputError(f"{folder} is a folder and {single} is not; pass two pictures or two folders")
    if not one.is_dir():
        return [(one, other)], False
    pictures = pictures_in(one, arguments[0])
    refuse_namesakes(pictures, arguments[0])
    return [(path, beside(other, path.stem, arguments[1])) for path in pictures], True


def refuse_namesakes(paths, argument: str) -> None:
    """InputError when results, which are called after their inputs, would overwrite each other."""
    for stem, count in Counter(path.stem for path in paths).items():
        if count > 1:
            raise InputError(
                f"{argument}: {count} inputs are called {stem!r}, and their results would overwrite each other; "
                "rename one or run them apart"
            )


def beside(given, stem: str, option: str) -> Path | None:
    """The file given, or the one of this stem in the folder given; None if nothing was given."""
    if given is None:
        return None
    if not Path(given).is_dir():
        return Path(given)
    from apps.strokes import find_by_stem

    return find_by_stem(given, stem, option)


def run_one(one, job, line, chosen) -> int:
    """Do a single job, print its line and its JSON; errors are left to `apps.command.run`."""
    with ticking(chosen.quiet):
        report = one(job, chosen)
    if not chosen.quiet and chosen.json != "-":
        print(line(report))
    if chosen.json:
        write_json(chosen.json, report)
    return 0


def run_many(
    command: str,
    noun: str,
    one,
    items: Iterable[Item],
    line,
    summary,
    chosen,
    *,
    total: int | None,
    inputs: tuple[str, ...],
    at_once: int,
    finish=lambda reports: {},
) -> int:
    """Do all items; a failed one is reported and does not stop the others.  The exit status.

    command   name of the program, for messages and records
    noun      what an item is: "image", "pair"; the reports' key for what was worked on
    one       (job, chosen) -> report, a dict with `noun` and "files", paths below --out; a function of a module
    items     taken as they are needed
    line      report -> what is printed of it
    summary   reports -> text after "N done, M failed", may be empty
    total     number of items, if it is known
    inputs    options that name inputs, which the jobs stand for
    at_once   items to do side by side where they are done in threads
    finish    reports -> more for the JSON; does what needs all of them
    """
    from tqdm import tqdm

    from apps.scale.task import FAILED, SKIPPED, Task

    outcomes, failures = [], {}

    def fail(number, shown, reason):
        failures[number] = {noun: shown, "error": reason}
        bar.update()

    def tasks():
        number = -1
        try:
            for number, item in enumerate(items):
                try:
                    job = item.job()
                except InputError as error:
                    fail(number, item.shown, str(error))
                    continue
                yield Task(number, item.name, item.shown, command, one, job, chosen, inputs)
        except InputError as error:  # such as a video that breaks off
            fail(number + 1, f"{noun} {number + 2} and all after it", str(error))

    with ExitStack() as stack:
        bar = stack.enter_context(tqdm(total=total, unit=noun, disable=chosen.quiet, file=sys.stderr))
        for outcome in stack.enter_context(closing(_engine(tasks(), chosen, at_once))):
            if outcome.status == FAILED:
                tried = f" (tried {outcome.attempts} times)" if outcome.attempts > 1 else ""
                fail(outcome.number, outcome.shown, outcome.reason + tried)
            else:
                outcome.report[noun] = outcome.shown  # a record may come from a run in another folder
                outcomes.append(outcome)
                bar.update()
    outcomes.sort(key=lambda outcome: outcome.number)
    reports = [outcome.report for outcome in outcomes]
    skipped = [outcome.shown for outcome in outcomes if outcome.status == SKIPPED]
    content = {f"{noun}s": reports, "failures": [failures[number] for number in sorted(failures)]}
    content |= ({"skipped": skipped} if chosen.resume else {}) | finish(reports)
    if not chosen.quiet and chosen.json != "-":
        for outcome in outcomes:
            if outcome.status != SKIPPED:
                print(line(outcome.report))
        left_out = f"{len(skipped)} skipped, " if chosen.resume else ""
        print(f"{len(reports) - len(skipped)} done, {left_out}{len(failures)} failed{summary(reports)}")
    for failure in content["failures"]:
        print(f"cutmatch {command}: {failure[noun]}: {failure['error']}", file=sys.stderr)
    if chosen.json:
        write_json(chosen.json, content)
    return SOME_FAILED if failures else 0


def _engine(tasks, chosen, at_once: int):
    """Outcomes of tasks, done where the options say."""
    if chosen.scheduler is not None:
        from apps.scale import cluster

        return cluster.run(tasks, chosen.scheduler, chosen.threads or 1)
    if chosen.workers is not None:
        from apps.scale import processes

        return processes.run(tasks, processes.environments(chosen.workers, chosen.threads, chosen.device))
    from apps.command import check_threads
    from apps.scale import threads

    each = None
    if chosen.threads is not None or at_once > 1:
        each = max(1, check_threads(chosen.threads) // at_once)
    return threads.run(tasks, at_once, each)
