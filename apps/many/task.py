"""One item of a batch, and doing it: the same code in a thread, in another process and on a cluster.

A task is plain data and names of functions, so it can be sent anywhere.  What comes back is an `Outcome`; an error
comes back as its text, because the exceptions of other libraries do not all survive the way between processes.
"""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass

from apps.common.errors import InputError, is_defect, reason_of
from apps.common.outputs import check_regular_files

DONE, SKIPPED, FAILED = "done", "skipped", "failed"
ATTEMPTS = 3  # the first one and two more


@dataclass(frozen=True, slots=True)
class Task:
    """`function(job, chosen)` reads, computes and writes an item, and returns its report.

    `function` is a function of a module, so that other processes can import it; `job` holds the item's paths, numbers and
    arrays; `inputs` are the options of `chosen` that name inputs, for which `job` stands.
    """

    number: int
    name: str
    shown: str
    command: str
    function: Callable
    job: object
    chosen: Namespace
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task: DONE or SKIPPED with its report, or FAILED with a reason."""

    number: int
    shown: str
    status: str
    report: dict | None = None
    reason: str = ""
    retry: bool = False  # whether another attempt could end otherwise
    attempts: int = 1
    defect: bool = False  # whether it failed by a mistake of this program


def attempt(task: Task) -> Outcome:
    """Do a task unless its record says that it is done; errors become an outcome."""
    from apps.many import records

    try:
        check_regular_files(task.job)
        known = records.fingerprint(task)
        if task.chosen.resume:
            report = records.verified(task, known)
            if report is not None:
                return Outcome(task.number, task.shown, SKIPPED, report)
        report = task.function(task.job, task.chosen)
        records.write(task, known, report)
    except InputError as error:  # the same input would be refused again
        return Outcome(task.number, task.shown, FAILED, reason=str(error))
    except Exception as error:  # whatever it is, it must not take the other items with it
        defect = is_defect(error)
        return Outcome(task.number, task.shown, FAILED, reason=reason_of(error), retry=True, defect=defect)
    return Outcome(task.number, task.shown, DONE, report)
