"""Undo and redo of records with their parts."""

import pytest

from apps.session.record_history import RecordHistory
from apps.session.stroke_records import Clear, make_stroke


def stroke(is_part=False):
    return make_stroke([(1, 1)], 1, 1, (9, 9), None, None, is_part)


def test_parts_are_undone_and_repeated_together():
    history = RecordHistory()
    one, parts, replaced = [stroke()], [stroke(True), stroke(True), stroke()], [Clear(is_part=True), stroke()]
    for records in (one, parts, replaced):
        with history.adding(*records):
            pass
    assert history.undo()
    assert history.records == one + parts
    assert history.undo()
    assert history.records == one
    assert history.redo()
    assert history.redo()
    assert not history.redo()
    assert history.records == one + parts + replaced
    while history.undo():
        pass
    assert history.records == []


def test_an_error_leaves_the_records_and_what_was_undone():
    history = RecordHistory()
    with history.adding(stroke()):
        pass
    history.undo()
    with pytest.raises(ValueError, match="answer"), history.adding(stroke(True), stroke()):
        raise ValueError("answer")
    assert (len(history.records), len(history.undone)) == (0, 1)
    with history.adding(stroke()):
        pass
    assert not history.redo()
