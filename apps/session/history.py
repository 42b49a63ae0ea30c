"""The history of a session: its records, and those that were undone; an edit replaces it as a whole."""

from typing import NamedTuple

from apps.session.session_records import Record


class RecordHistory(NamedTuple):
    """The records, and those that were undone and can be repeated; an edit replaces it as a whole.

    Parts of a stroke, and what precedes a record as its part, are undone and repeated together with it.

    records     in order
    undone      the first one to be repeated is the last
    is_final    whether the last edit is complete: no part of a stroke that is still being drawn
    """

    records: tuple[Record, ...] = ()
    undone: tuple[Record, ...] = ()
    is_final: bool = True

    def with_added(self, *records: Record, is_final: bool = True) -> "RecordHistory":
        """The history after records were added; what was undone is kept until an edit is complete."""
        return RecordHistory((*self.records, *records), () if is_final else self.undone, is_final)

    def with_undone(self) -> "RecordHistory | None":
        """The history without the last record and its parts; None if there is none.

        A stroke that is still being drawn is given up, not kept to be repeated.
        """
        count = len(self.records) - 1
        while count > 0 and is_part(self.records[count - 1]):
            count -= 1
        if count < 0:
            return None
        return RecordHistory(self.records[:count], self.undone + (self.records[count:][::-1] if self.is_final else ()))

    def with_repeated(self) -> "RecordHistory | None":
        """The history with the record that was undone last; None if there is none, or a stroke is being drawn."""
        count = len(self.undone) - 1 if self.is_final else -1
        while count > 0 and is_part(self.undone[count]):
            count -= 1
        return None if count < 0 else RecordHistory(self.records + self.undone[count:][::-1], self.undone[:count])


def is_part(record: Record) -> bool:
    """Whether the next record is undone together with this one."""
    return getattr(record, "is_part", False)
