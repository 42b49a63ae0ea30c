"""Many inputs in one run: finding them, what belongs to each, and going on when one of them fails."""

import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from apps.command import SOME_FAILED, write_json
from apps.images import READABLE, InputError


def pictures_of(names, argument: str = "image") -> tuple[list[Path], bool]:
    """The pictures named, folders opened, and whether to treat them as a batch.

    Raises InputError, naming the argument, for a folder without pictures or two pictures of one name.
    """
    found = []
    for name in names:
        path = Path(name)
        found += pictures_in(path, argument) if path.is_dir() else [path]
    stems = [path.stem for path in found]
    for path in found:
        if stems.count(path.stem) > 1:
            raise InputError(
                f"{argument}: {stems.count(path.stem)} pictures are called {path.stem!r}, and their results would "
                "overwrite each other; rename one or run them apart"
            )
    return found, len(found) > 1 or Path(names[0]).is_dir()


def pictures_in(folder: Path, argument: str = "image") -> list[Path]:
    """The pictures of a folder by name; InputError when there is none."""
    inside = sorted(p for p in folder.iterdir() if p.suffix.lower() in READABLE and not p.name.startswith("."))
    if not inside:
        raise InputError(f"{argument}: folder {str(folder)!r} holds no picture ({', '.join(READABLE[:5])}, ...)")
    return inside


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
    report = one(job)
    if not chosen.quiet and chosen.json != "-":
        print(line(report))
    if chosen.json:
        write_json(chosen.json, report)
    return 0


def run_many(command: str, noun: str, one, jobs: dict, line, summary, chosen, threads: int = 1) -> int:
    """Do all jobs, `threads` at a time; a failed one is reported and does not stop the others.

    command   name of the program, for messages
    noun      what a job is: "image", "pair"; the reports' key for what was worked on
    one       job -> report, a dict that has `noun`
    jobs      {what is shown: job}
    line      report -> what is printed of it
    summary   reports -> text after "N done, M failed", may be empty
    """
    from tqdm import tqdm

    reports, failures = [], []
    with ThreadPoolExecutor(max_workers=threads) as pool:
        waiting = {pool.submit(one, job): shown for shown, job in jobs.items()}
        for done in tqdm(as_completed(waiting), total=len(waiting), unit=noun, disable=chosen.quiet, file=sys.stderr):
            try:
                reports.append(done.result())
            except (InputError, RuntimeError, MemoryError) as error:
                reason = str(error) or "out of memory; use a smaller picture"
                failures.append({noun: waiting[done], "error": reason})
    reports.sort(key=lambda report: report[noun])
    failures.sort(key=lambda failure: failure[noun])
    if not chosen.quiet and chosen.json != "-":
        for report in reports:
            print(line(report))
        print(f"{len(reports)} done, {len(failures)} failed{summary(reports)}")
    for failure in failures:
        print(f"cutmatch {command}: {failure[noun]}: {failure['error']}", file=sys.stderr)
    if chosen.json:
        write_json(chosen.json, {f"{noun}s": reports, "failures": failures})
    return SOME_FAILED if failures else 0
