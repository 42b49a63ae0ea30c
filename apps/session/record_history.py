"""The records of a session, and those that were undone and can be repeated.

Parts of a stroke, and what precedes a record as its part, are undone and repeated together with it.
"""

from typing import NamedTuple

from apps.session.stroke_records import Record, is_part


class RecordHistory(NamedTuple):
    """A state of the history, which an edit replaces as a whole.

    records     in order
    undone      the first one to be repeated is the last
    is_final    whether the last edit is complete: no part of a stroke that is still being drawn
    """

    records: tuple[Record, ...] = ()
    undone: tuple[Record, ...] = ()
    is_final: bool = True

    def with_added(self, *records: Record, is_final: bool = True) -> "RecordHistory":
        """The history after records were added."""
        return RecordHistory((*self.records, *records), (), is_final)

    def with_undone(self) -> "RecordHistory | None":
        """The history without the last record and its parts; None if there is none."""
        count = len(self.records) - 1
        while count > 0 and is_part(self.records[count - 1]):
            count -= 1
        return None if count < 0 else RecordHistory(self.records[:count], self.undone + self.records[count:][::-1])

    def with_repeated(self) -> "RecordHistory | None":
        """The history with the record that was undone last; None if there is none."""
        count = len(self.undone) - 1
        while count > 0 and is_part(self.undone[count]):
            count -= 1
        return None if count < 0 else RecordHistory(self.records + self.undone[count:][::-1], self.undone[:count])
