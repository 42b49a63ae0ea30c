"""The object found before the last stroke, which a few marks correct rather than replace.

It depends on the one before, and so on, so the objects found after each stroke are kept, compressed.  Those for which a
newer stroke left no time are found first.  The labels remain a function of the records, in their order.
"""

from collections.abc import Callable, Sequence

import numpy as np

from apps.session.object_records import Describe
from apps.session.packed_mask import PackedMask
from apps.session.stroke_records import Record, common_length, stops_of

MAX_STROKES = 20  # more are answered from nothing, so that a stored list of strokes does not take many fits

# Records and the object before the last one -> the object, or None if there are none or several
Answer = Callable[[Sequence[Record], np.ndarray | None], np.ndarray | None]


class EarlierAnswers:
    """Objects found for the first records of a session, bool, by the number of records; names do not count."""

    def __init__(self) -> None:
        self._records: Sequence[Record] = ()
        self._found: dict[int, PackedMask | None] = {}

    def before_last(self, records: Sequence[Record], answer: Answer) -> np.ndarray | None:
        """The object before the last stroke of all records; `answer` finds those that are missing."""
        records = [record for record in records if not isinstance(record, Describe)]
        common, self._records = common_length(self._records, records), records
        self._found = {count: found for count, found in self._found.items() if count <= common}
        earlier, stops = None, stops_of(records)
        if len(stops) > MAX_STROKES:
            return None
        for stop in stops[:-1]:
            if stop not in self._found:
                self._keep(stop, answer(records[:stop], earlier))
            found = self._found[stop]
            earlier = None if found is None else found.values()
        return earlier

    def keep(self, found: np.ndarray) -> None:
        """Keep the object of the last records."""
        self._keep(len(self._records), found)

    def _keep(self, count: int, found: np.ndarray | None) -> None:
        self._found[count] = None if found is None else PackedMask.of(found)
