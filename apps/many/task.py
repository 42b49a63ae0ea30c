"""One item of a batch and its execution: the same code in a thread, in another process and on a cluster.

A task consists of plain data and a module-level function, so it can be pickled.  The result is an `Outcome`.  An error
is returned as text, because not all exceptions of other libraries can be pickled.
"""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from apps.common.clock import charge, whole_clock
from apps.common.errors import InputError, is_defect, reason_of
from apps.common.outputs import check_regular_files

DONE, SKIPPED, FAILED = "done", "skipped", "failed"
ATTEMPTS = 3  # including the first


@dataclass(frozen=True, slots=True)
class Task:
    """`function(job, chosen)` reads, computes and writes an item, and returns its report.

    `function` is defined in a module, so that other processes can import it.  `job` contains the item's paths, numbers
    and arrays.  `inputs` are the options of `chosen` that name inputs; `job` represents them.  For the
    record, `source` is that of the item, and `options` are the options as parsed.
    """

    number: int
    name: str
    shown: str
    command: str
    function: Callable
    job: object
    chosen: Namespace
    inputs: tuple[str, ...]
    source: Path | None = None
    options: dict | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a task: DONE or SKIPPED with its report, or FAILED with a reason."""

    number: int
    shown: str
    status: str
    report: dict | None = None
    reason: str = ""
    retry: bool = False  # whether another attempt might succeed
    attempts: int = 1
    defect: bool = False  # whether the failure is a defect of this program


def attempt(task: Task) -> Outcome:
    """Run a task, unless `--resume` finds its record up to date; errors become an outcome."""
    from apps.many import records, result_record

    try:
        check_regular_files(task.job)
        with whole_clock() as clock:
            known = records.fingerprint(task)
            charge("digest")
            if task.chosen.resume:
                report = records.verified(task, known)
                if report is not None:
                    return Outcome(task.number, task.shown, SKIPPED, report)
            inputs = result_record.given(task)
            report = task.function(task.job, task.chosen)
            result_record.complete(task, report, inputs, clock)
            records.write(task, known, report)
    except InputError as error:  # another attempt would reject the same input
        return Outcome(task.number, task.shown, FAILED, reason=str(error))
    except Exception as error:  # no error may stop the other items
        defect = is_defect(error)
        return Outcome(task.number, task.shown, FAILED, reason=reason_of(error), retry=True, defect=defect)
    return Outcome(task.number, task.shown, DONE, report)
