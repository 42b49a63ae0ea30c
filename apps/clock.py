"""Where the time goes."""

import time


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
