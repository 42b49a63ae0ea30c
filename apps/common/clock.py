"""Where the time goes, and a sign of life while it does."""

import sys
import threading
import time
from contextlib import contextmanager

DISPLAY_DELAY = 2.0  # seconds before the first sign


class Clock:
    """Adds up seconds by stage."""

    def __init__(self):
        self.start = self.last = time.perf_counter()
        self.seconds = {}

    def charge(self, stage: str) -> None:
        """Count the time since the last charge, or since the beginning, for this stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now

    def total(self) -> dict:
        """Seconds of the stages, and "total"."""
        return {**self.seconds, "total": time.perf_counter() - self.start}


@contextmanager
def elapsed_display(quiet: bool):
    """Show on a terminal's standard error for how long the work has gone on; the line is gone at the end."""
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
