"""Seconds by stage, and a display of the elapsed time."""

import sys
import threading
import time
from contextlib import contextmanager

DISPLAY_DELAY = 2.0  # seconds before the elapsed time is shown


class Clock:
    """Accumulate seconds by stage."""

    def __init__(self):
        self.start = self.last = time.perf_counter()
        self.seconds = {}

    def charge(self, stage: str) -> None:
        """Add the time since the last call, or since the start, to this stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now

    def total(self) -> dict:
        """Seconds by stage, and "total" since the start."""
        return {**self.seconds, "total": time.perf_counter() - self.start}


@contextmanager
def elapsed_display(quiet: bool):
    """Show the elapsed time on standard error if it is a terminal; the line is erased at the end."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def tick():
        from tqdm import tqdm

        if not done.wait(DISPLAY_DELAY):
            with tqdm(bar_format="working, {elapsed}", file=sys.stderr, leave=False) as bar:
                bar.start_t -= DISPLAY_DELAY
                while not done.wait(1.0):
                    bar.refresh()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
