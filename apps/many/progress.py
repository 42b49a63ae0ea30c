"""Progress of a batch on standard error: a bar on a terminal, a line from time to time in a log."""

import sys
import time
from argparse import Namespace
from functools import partial

LINE_INTERVAL = 60.0  # seconds between two lines in a log


def frame_bar(chosen: Namespace, what: str, total: int | None = None):
    """Function that shows the progress of an iteration over the frames of a sequence; several share the run's bar."""
    from tqdm import tqdm

    hidden = True if chosen.quiet or chosen.many else None  # None: unless it is a terminal, as bars would fill a log
    return partial(tqdm, desc=what, total=total, unit="frame", disable=hidden, file=sys.stderr, leave=False)


class Progress:
    """Context manager that counts the finished items of a run.

    A terminal shows a bar.  Elsewhere the bar's control characters would fill a log file, so a line is written at most
    every LINE_INTERVAL seconds, and none by a short run.  `quiet` shows neither.
    """

    def __init__(self, command: str, noun: str, total: int | None, quiet: bool):
        self._label, self._total, self._done = f"cutmatch {command}", total, 0
        self._noun = noun
        self._bar = None
        self._next = float("inf") if quiet else time.monotonic() + LINE_INTERVAL
        if not quiet and sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=noun, file=sys.stderr)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self) -> None:
        """Count one more item, done or failed."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        elif time.monotonic() >= self._next:
            from apps.common.errors import print_error

            self._next = time.monotonic() + LINE_INTERVAL
            share = "" if not self._total else f" of {self._total} ({100 * self._done // self._total} %)"
            print_error(f"{self._label}: {self._done}{share} {self._noun}s finished")
