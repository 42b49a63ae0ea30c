"""Many inputs in one run: find them and their companion files, and continue when one of them fails."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from apps.common.clock import elapsed_display
from apps.common.command import write_json
from apps.common.errors import DEFECT, SOME_FAILED, InputError, is_defect, print_error, print_lines, reason_of
from apps.common.images import READABLE
from apps.common.outputs import Outputs, check_regular_files, files_in, same_folder


class Item(NamedTuple):
    """One input of a batch: the name of its results, its displayed name, and a function that finds its files.

    files    the results known before the work starts: paths in --out
    source   the file that the results are named after
    family   prefix of the names of results whose number is not known yet: FAMILY1.png, FAMILY2.png ...
    """

    name: str
    shown: str
    job: Callable[[], object]
    files: tuple[Path, ...] = ()
    source: Path | None = None
    family: str = ""


def images_of(names, argument: str = "image", out=None) -> tuple[list[Path], bool]:
    """The images named and those in the folders named, and whether to process them as a batch.

    Raises InputError, naming the argument, for a folder without images or two images of the same name.
    """
    found = []
    for name in names:
        found += images_in(Path(name), argument, out) if os.path.isdir(name) else [Path(name)]
    check_unique_names(found, argument)
    return found, len(found) > 1 or os.path.isdir(names[0])


def images_in(folder: Path, argument: str = "image", out=None, minimum: int = 1) -> list[Path]:
    """The images of a folder in order of name, without the results of earlier runs if it is `out`.

    Raises InputError if there are fewer than `minimum`.
    """
    entries = files_in(folder, None if out is None else Path(out), argument)
    inside = [path for path in entries if path.suffix.lower() in READABLE and not path.name.startswith(".")]
    if len(inside) >= minimum:
        return inside
    every = images_in(folder, argument, None, 0)
    if len(every) > len(inside):
        held, hint = "results of earlier runs", "; pass the images by name, or another --out"
        raise InputError(f"{argument}: folder {str(folder)!r} holds only {held}{hint}")
    if inside:
        raise InputError(f"{argument}: folder {str(folder)!r} holds one image; two or more are needed")
    needed = f"({', '.join(READABLE[:5])}, ...)" if minimum == 1 else "; two or more are needed"
    raise InputError(f"{argument}: folder {str(folder)!r} holds no image{' ' * (minimum == 1)}{needed}")


def pairs_of(one, other, arguments: tuple[str, str], out=None) -> tuple[list[tuple[Path, Path | None]], bool]:
    """Pairs of images by name from two folders, or the pair of two files, and whether the inputs are folders.

    The second image is None if `partner_of` does not find it.  Raises InputError, naming the arguments, for a folder
    and an image, and if no image has a partner.
    """
    folders = [os.path.isdir(path) for path in (one, other)]
    one, other = Path(one), Path(other)
    if folders[0] != folders[1]:
        folder, single = arguments if folders[0] else arguments[::-1]
        raise InputError(f"{folder} is a folder and {single} is not; pass two images or two folders")
    if not folders[0]:
        return [(one, other)], False
    images, pairs, missing = images_in(one, arguments[0], out), [], []
    check_unique_names(images, arguments[0])
    for path in images:
        try:
            pairs.append((path, partner_of(path, other, arguments[1])))
        except InputError as error:  # the pair's job will report it
            pairs.append((path, None))
            missing.append(error)
    if len(missing) == len(pairs):
        raise missing[0]
    return pairs, True


def partner_of(path: Path, other, argument: str) -> Path:
    """The second image of a pair; InputError if it does not exist."""
    return companion_of(other, path.stem, argument)


def check_unique_names(inputs, argument: str) -> None:
    """Raise InputError if results, which are named after their inputs, would overwrite each other.

    `inputs` are paths, whose results are named after their stems, or the names of the results.
    """
    stems = [one if isinstance(one, str) else one.stem for one in inputs]
    for stem, count in Counter(stems).items():
        if count > 1:
            raise InputError(
                f"{argument}: {count} inputs are named {stem!r}, and their results would overwrite each other; "
                "rename one, or run them separately"
            )


def check_out_is_not_input(folders, out, argument: str, option: str = "--out") -> None:
    """Raise InputError if results would be written among the frames or slices of an input."""
    for folder in folders:
        if os.path.isdir(folder) and same_folder(Path(folder), Path(out)):
            raise InputError(
                f"{option}: {str(out)!r} is the folder of {argument} {str(folder)!r}, all of whose files are read as "
                "one input; choose another folder"
            )


def companion_of(given, stem: str, option: str) -> Path | None:
    """The file given, or the file with this stem in the folder given; None if `given` is None."""
    if given is None:
        return None
    if not os.path.isdir(given):
        return Path(given)
    from apps.segment.strokes import find_by_stem

    return find_by_stem(given, stem, option)


def run_one(command: str, one, item: Item, line, chosen, inputs: tuple[str, ...]) -> int:
    """Process a single item, write its JSON and print its line; `apps.common.command.run` handles errors."""
    outputs = Outputs(command, chosen, inputs)
    outputs.check([item])
    job = item.job()
    check_regular_files(job)
    outputs.check_job(item, job)
    try:
        with elapsed_display(chosen.quiet), outputs.writing_named():
            report = one(job, chosen)
    except MemoryError as error:
        raise MemoryError(f"{item.shown}: {reason_of(error)}") from None
    if chosen.json:
        write_json(chosen.json, report)
    if not chosen.quiet and chosen.json != "-":
        print_lines(line(report))
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
    concurrent_items: int,
    finish=lambda reports: {},
) -> int:
    """Process all items and return the exit status; a failed item is reported and does not stop the others.

    command   name of the program, for messages and records
    noun      kind of an item, such as "image" or "pair"; key of its name in the reports
    one       module-level function (job, chosen) -> report, a dict with `noun` and "files", paths below --out
    items     drawn on demand
    line      report -> line to print
    summary   reports -> text after "N done, M failed", may be empty
    total     number of items, if known
    inputs    options that name inputs, which the jobs represent
    concurrent_items   number of items to process concurrently in threads
    finish    reports -> further entries of the JSON; called once with all reports
    """
    from tqdm import tqdm

    from apps.many.task import FAILED, SKIPPED, Task

    outputs = Outputs(command, chosen, inputs)
    known = isinstance(items, list)
    outputs.check(items if known else ())
    outcomes, failures, defects = [], {}, []

    def fail(number, shown, reason):
        failures[number] = {noun: shown, "error": reason}
        bar.update()

    def tasks():
        number = -1
        try:
            for number, item in enumerate(items):
                try:
                    if not known:
                        outputs.check_item(item)
                    if item.name in outputs.unwritable:
                        raise outputs.unwritable[item.name]
                    job = item.job()
                    outputs.check_job(item, job)
                except Exception as error:  # an error of one item must not stop the others
                    defects.append(is_defect(error))
                    fail(number, item.shown, reason_of(error))
                    continue
                yield Task(number, item.name, item.shown, command, one, job, chosen, inputs)
        except Exception as error:  # such as a truncated video
            defects.append(is_defect(error))
            fail(number + 1, f"{noun} {number + 2} and all after it", reason_of(error))

    with ExitStack() as stack:
        bar = stack.enter_context(tqdm(total=total, unit=noun, disable=chosen.quiet, file=sys.stderr))
        for outcome in stack.enter_context(closing(_engine(tasks(), chosen, concurrent_items))):
            if outcome.status == FAILED:
                defects.append(outcome.defect)
                tried = f" (tried {outcome.attempts} times)" if outcome.attempts > 1 else ""
                fail(outcome.number, outcome.shown, outcome.reason + tried)
            else:
                outcome.report[noun] = outcome.shown  # a record may be from a run in another folder
                outcomes.append(outcome)
                bar.update()
    outcomes.sort(key=lambda outcome: outcome.number)
    reports = [outcome.report for outcome in outcomes]
    skipped = [outcome.shown for outcome in outcomes if outcome.status == SKIPPED]
    content = {f"{noun}s": reports, "failures": [failures[number] for number in sorted(failures)]}
    content |= {"skipped": skipped} if chosen.resume else {}
    problem = None
    try:
        with outputs.writing_named():
            content |= finish(reports)
    except (InputError, OSError) as error:  # the finished items are reported nevertheless
        problem = error
    if chosen.json and chosen.json != "-":
        write_json(chosen.json, content)
    if not chosen.quiet and chosen.json != "-":
        lines = [line(outcome.report) for outcome in outcomes if outcome.status != SKIPPED]
        left_out = f"{len(skipped)} skipped, " if chosen.resume else ""
        lines.append(f"{len(reports) - len(skipped)} done, {left_out}{len(failures)} failed{summary(reports)}")
        print_lines(*lines)
    for failure in content["failures"]:
        print_error(f"cutmatch {command}: {failure[noun]}: {failure['error']}")
    if chosen.json == "-":
        write_json(chosen.json, content)
    if problem is not None:
        raise problem
    return DEFECT if any(defects) else SOME_FAILED if failures else 0


def _engine(tasks, chosen, concurrent_items: int):
    """Outcomes of tasks, run in threads, processes or on a cluster as the options specify."""
    if chosen.scheduler is not None:
        from apps.many import cluster

        return cluster.run(tasks, chosen.scheduler, chosen.threads or 1)
    if chosen.workers is not None:
        from apps.many import processes

        return processes.run(tasks, processes.environments(chosen.workers, chosen.threads, chosen.device))
    from apps.common.command import check_threads
    from apps.many import threads

    each = None
    if chosen.threads is not None or concurrent_items > 1:
        each = max(1, check_threads(chosen.threads) // concurrent_items)
    return threads.run(tasks, concurrent_items, each)
