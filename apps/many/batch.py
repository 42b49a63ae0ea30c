"""Many inputs in one run: finding them, what belongs to each, and going on when one of them fails."""

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
    """One of many: the name of its results, what is shown of it, and what finds all that belongs to it.

    files    the results, as far as they are known before the work begins: paths in --out
    source   the file that the results are called after
    family   how the names of results begin whose number is not known: FAMILY1.png, FAMILY2.png ...
    """

    name: str
    shown: str
    job: Callable[[], object]
    files: tuple[Path, ...] = ()
    source: Path | None = None
    family: str = ""


def images_of(names, argument: str = "image", out=None) -> tuple[list[Path], bool]:
    """The images named, folders opened, and whether to treat them as a batch.

    Raises InputError, naming the argument, for a folder without images or two images of one name.
    """
    found = []
    for name in names:
        found += images_in(Path(name), argument, out) if os.path.isdir(name) else [Path(name)]
    check_unique_names(found, argument)
    return found, len(found) > 1 or os.path.isdir(names[0])


def images_in(folder: Path, argument: str = "image", out=None, minimum: int = 1) -> list[Path]:
    """The images of a folder by name; of the folder `out` without the results of earlier runs.

    Raises InputError when there are fewer than `minimum`.
    """
    entries = files_in(folder, None if out is None else Path(out), argument)
    inside = [path for path in entries if path.suffix.lower() in READABLE and not path.name.startswith(".")]
    if len(inside) >= minimum:
        return inside
    every = images_in(folder, argument, None, 0)
    if len(every) > len(inside):
        held, hint = "results of earlier runs", "; pass the images by name, or another --out"
        raise InputError(f"{argument}: folder {str(folder)!r} holds nothing but {held}{hint}")
    if inside:
        raise InputError(f"{argument}: folder {str(folder)!r} holds one image; two or more are needed")
    needed = f"({', '.join(READABLE[:5])}, ...)" if minimum == 1 else "; two or more are needed"
    raise InputError(f"{argument}: folder {str(folder)!r} holds no image{' ' * (minimum == 1)}{needed}")


def pairs_of(one, other, arguments: tuple[str, str], out=None) -> tuple[list[tuple[Path, Path | None]], bool]:
    """Two images, or the images of one folder each with that of its name in another, and whether they are many.

    The second is None where `partner_of` does not find it.  Raises InputError, naming the arguments, for a folder and
    an image, and where no image has a partner.
    """
    folders = [os.path.isdir(path) for path in (one, other)]
    one, other = Path(one), Path(other)
    if folders[0] != folders[1]:
        folder, single = arguments if folders[0] else arguments[::-1]
        raise InputError(f"{folder} is a folder and {single} is not; pass two images or two folders")
    if not folders[0]:
        return [(one, other)], False
    pictures, pairs, missing = images_in(one, arguments[0], out), [], []
    check_unique_names(pictures, arguments[0])
    for path in pictures:
        try:
            pairs.append((path, partner_of(path, other, arguments[1])))
        except InputError as error:  # the pair's job will find it missing again
            pairs.append((path, None))
            missing.append(error)
    if len(missing) == len(pairs):
        raise missing[0]
    return pairs, True


def partner_of(path: Path, other, argument: str) -> Path:
    """The second image of a pair; InputError when there is none."""
    return companion_of(other, path.stem, argument)


def check_unique_names(inputs, argument: str) -> None:
    """InputError when results, which are called after their inputs, would overwrite each other.

    `inputs` are paths, whose results are called after their stems, or the names of the results.
    """
    stems = [one if isinstance(one, str) else one.stem for one in inputs]
    for stem, count in Counter(stems).items():
        if count > 1:
            raise InputError(
                f"{argument}: {count} inputs are called {stem!r}, and their results would overwrite each other; "
                "rename one or run them apart"
            )


def check_out_is_not_input(folders, out, argument: str, option: str = "--out") -> None:
    """InputError when results would be written among the frames or slices of an input."""
    for folder in folders:
        if os.path.isdir(folder) and same_folder(Path(folder), Path(out)):
            raise InputError(
                f"{option}: {str(out)!r} is the folder of {argument} {str(folder)!r}, whose files are all taken for "
                "one input; choose another folder"
            )


def companion_of(given, stem: str, option: str) -> Path | None:
    """The file given, or the one of this stem in the folder given; None if nothing was given."""
    if given is None:
        return None
    if not os.path.isdir(given):
        return Path(given)
    from apps.segment.strokes import find_by_stem

    return find_by_stem(given, stem, option)


def run_one(command: str, one, item: Item, line, chosen, inputs: tuple[str, ...]) -> int:
    """Do a single item, write its JSON and print its line; errors are left to `apps.common.command.run`."""
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
    """Do all items; a failed one is reported and does not stop the others.  The exit status.

    command   name of the program, for messages and records
    noun      what an item is: "image", "pair"; the reports' key for what was worked on
    one       (job, chosen) -> report, a dict with `noun` and "files", paths below --out; a function of a module
    items     taken as they are needed
    line      report -> what is printed of it
    summary   reports -> text after "N done, M failed", may be empty
    total     number of items, if it is known
    inputs    options that name inputs, which the jobs stand for
    concurrent_items   items to do side by side where they are done in threads
    finish    reports -> more for the JSON; does what needs all of them
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
                except Exception as error:  # whatever is wrong with this one, the others are done
                    defects.append(is_defect(error))
                    fail(number, item.shown, reason_of(error))
                    continue
                yield Task(number, item.name, item.shown, command, one, job, chosen, inputs)
        except Exception as error:  # such as a video that breaks off
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
                outcome.report[noun] = outcome.shown  # a record may come from a run in another folder
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
    except (InputError, OSError) as error:  # what was done is reported all the same
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
    """Outcomes of tasks, done where the options say."""
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
