"""Undo and redo of records with their parts."""

from apps.session.record_checks import make_stroke
from apps.session.session_records import Clear, RecordHistory


def stroke(is_part=False):
    return make_stroke([(1, 1)], 1, 1, (9, 9), None, None, is_part)


def test_parts_are_undone_and_repeated_together():
    one, parts, replaced = (stroke(),), (stroke(True), stroke(True), stroke()), (Clear(is_part=True), stroke())
    history = RecordHistory()
    for records in (one, parts, replaced):
        history = history.with_added(*records)
    history = history.with_undone()
    assert history.records == one + parts
    history = history.with_undone()
    assert history.records == one
    history = history.with_repeated().with_repeated()
    assert history.with_repeated() is None
    assert history.records == one + parts + replaced
    for left in (one + parts, one, ()):
        history = history.with_undone()
        assert history.records == left
    assert history.with_undone() is None


def test_a_stroke_being_drawn_is_given_up_with_what_it_continues():
    history = RecordHistory().with_added(stroke()).with_added(stroke(True), is_final=False)
    assert not history.is_final
    history = history.with_added(stroke(True), is_final=False).with_undone()
    assert history.is_final
    assert len(history.records) == 1
    assert history.with_repeated() is None


def test_what_was_undone_survives_a_stroke_that_is_given_up():
    undone = RecordHistory().with_added(stroke()).with_added(stroke()).with_undone()
    drawn = undone.with_added(stroke(True), is_final=False).with_added(stroke(True), is_final=False)
    assert drawn.with_repeated() is None
    assert drawn.with_undone() == undone
    assert len(undone.with_repeated().records) == 2
    assert drawn.with_added(stroke()).with_repeated() is None


def test_a_new_record_forgets_what_was_undone():
    history = RecordHistory().with_added(stroke()).with_undone().with_added(stroke())
    assert history.with_repeated() is None
