"""The records of a session, and those that were undone and can be repeated.

Parts of a stroke, and what precedes a record as its part, are undone and repeated together with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from apps.session.stroke_records import Record, is_part


class RecordHistory:
    """Records in order, `records`, and those undone, the last one first to be repeated, `undone`."""

    def __init__(self):
        self.records: list[Record] = []
        self.undone: list[Record] = []

    @contextmanager
    def adding(self, *records: Record) -> Iterator[None]:
        """Add records; an error inside the context removes them again."""
        count = len(self.records)
        self.records += records
        try:
            yield
        except BaseException:
            del self.records[count:]
            raise
        self.undone.clear()

    def undo(self) -> bool:
        """Remove the last record with its parts; False if there is none."""
        return self._move(self.records, self.undone)

    def redo(self) -> bool:
        """Repeat the record that was undone last; False if there is none."""
        return self._move(self.undone, self.records)

    def _move(self, source: list[Record], target: list[Record]) -> bool:
        """Move a record with its parts between the lists, so that no part ends those in effect."""
        if not source:
            return False
        target.append(source.pop())
        while source and self.records and is_part(self.records[-1]):
            target.append(source.pop())
        return True
