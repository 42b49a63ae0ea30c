"""The list of objects in a real browser: next free label, names, colours, show, lock and delete.

CUTMATCH_SCREENSHOTS=FOLDER keeps screenshots, among them the one of docs/guide/app.md.
"""

import json

import numpy as np
from PIL import Image, ImageDraw

from tests.apps.app.browser_page import COUNT, PLACES, row
from tests.apps.session.scenes import photo_of_two_objects
from tests.chromium import IN_BROWSER

pytestmark = IN_BROWSER


def test_objects_beyond_nine(cells, browse):
    page = browse("cells.png", "--out", "out")
    page.objects(COUNT)
    assert page.js("app.objects.known.map((one) => one.label)") == list(range(1, COUNT + 1))
    labels = page.labels()
    assert [labels[y, x] for x, y in PLACES] == list(range(1, COUNT + 1))
    page.keys("3")
    assert page.js("app.label") == 3
    page.keys(",")
    assert page.js("app.label") == 2
    page.keys(".", ".")
    assert page.js("app.label") == 4

    # Names and colours, which keys do not disturb.
    name = row(page, 11, "name")
    name.send_keys("nerve cell\n")
    page.until("app.objects.of(11).name === 'nerve cell'")
    assert page.js("app.tool") == "object"
    page.js("(() => { const one = arguments[0]; one.value = '#102030'; one.onchange(); })()", row(page, 12, "colour"))
    page.until("String(app.objects.colourOf(12)) === '16,32,48'")
    page.settled()
    page.screenshot("objects")

    # Show and hide; the labels are the same.
    row(page, 12, "show").click()
    assert page.js("app.mask.colours.has(12)") is False
    assert page.labels()[PLACES[11][::-1]] == 12
    row(page, 12, "show").click()
    assert page.js("app.mask.colours.has(12)") is True

    # Delete, undo, and the free label again.
    row(page, 5, "delete").click()
    page.until("document.getElementById('hint').textContent === 'Object 5 is empty: Undo brings it back'")
    page.until("!app.objects.of(5)")
    page.settled()
    assert not (page.labels() == 5).any()
    page.keys("o")
    assert page.js("app.label") == 5
    row(page, 5, "delete").click()  # of an object without strokes: its row
    assert page.js("app.label === 1 && !document.querySelector('#objects [data-label=\"5\"]')")
    page.keys("z", control=True)
    page.until("app.objects.of(5)")
    page.settled()
    assert page.labels()[PLACES[4][::-1]] == 5

    # Files.
    page.driver.find_element("css selector", "#kinds input[value=coco]").click()
    page.keys("s", control=True)
    page.until("document.getElementById('saved').textContent.startsWith('Saved')")
    coco = json.loads((cells / "out" / "cells-coco.json").read_bytes())
    assert {one["id"]: one["name"] for one in coco["categories"]}[11] == "nerve cell"
    page.driver.refresh()
    page.ready()
    page.until("app.objects.of(11)?.name === 'nerve cell' && String(app.objects.colourOf(12)) === '16,32,48'")


def test_clean_up(cells, browse):
    """By the button and by its key, and undone; the object may be changed as before."""
    image = Image.open(cells / "cells.png")
    (x, y), *_ = PLACES
    ImageDraw.Draw(image).ellipse((x - 5, y - 5, x + 5, y + 5), fill=(90, 90, 90))
    image.save(cells / "cells.png")
    page = browse("cells.png", "--out", "out")
    assert not page.driver.find_element("id", "clean-up").is_enabled()
    page.keys("q")
    for column, line in PLACES[:4]:
        page.drag([(column - 12, line + 12), (column + 12, line + 12)])
        page.until("app.mask.at(arguments[0]) === 1", (column + 12, line + 12))
    page.settled()
    assert page.labels()[y, x] == 0
    for clean in (lambda: page.click("clean-up"), lambda: page.keys("k")):
        clean()
        page.until("app.mask.at(arguments[0]) === 1", (x, y))
        assert not page.js("app.objects.of(1).locked")
        page.keys("z", control=True)
        page.until("app.mask.at(arguments[0]) === 0", (x, y))


def test_locked_objects(cells, browse):
    """They keep their pixels, refuse strokes with a word, and are locked again in the next run."""
    page = browse("cells.png", "--out", "out")
    page.objects(3)
    page.keys("l")
    page.until("app.objects.of(3).locked")
    row(page, 1, "lock").click()
    page.until("app.objects.of(1).locked")
    page.settled()
    locked = page.labels().copy()
    count = page.js("app.state.order.length")
    page.drag([PLACES[4], PLACES[5]])
    assert "Object 3 is locked" in page.driver.find_element("id", "hint").text
    assert not row(page, 3, "delete").is_enabled()
    page.screenshot("locks")
    page.keys("2")
    page.drag([PLACES[0], PLACES[1]])
    assert "Object 1 is locked" in page.driver.find_element("id", "hint").text
    page.stroke([PLACES[1], PLACES[0], PLACES[2]])
    page.stroke([PLACES[8], PLACES[0]], 2)
    page.settled()
    for label in (1, 3):
        assert np.array_equal(page.labels() == label, locked == label)
    assert page.js("app.state.order.length") > count
    page.keys("\ue017", control=True)  # Delete: all marks, but no locked object
    page.until("app.state.order.length === 0")
    page.settled()
    assert set(np.unique(page.labels())) == {0, 1, 3}
    page.keys("s", control=True)
    page.until("document.getElementById('saved').textContent.startsWith('Saved')")
    assert np.array_equal(np.array(Image.open(cells / "out" / "cells-mask.png")) > 0, page.labels() > 0)
    page.driver.refresh()
    page.ready()
    page.until("app.objects.of(1)?.locked && app.objects.of(3)?.locked")
    page.keys("3", "l")
    page.until("!app.objects.of(3)?.locked")


def test_a_box_for_each_object(cells, browse):
    """`R` and a box find the chosen object; boxes and strokes of others leave it where it is, and a lock as it is."""
    page = browse("cells.png", "--out", "out")
    found = np.zeros_like(page.labels())
    for label, (x, y) in enumerate(PLACES[:3], 1):
        if label > 1:
            page.keys("o")
        page.keys("r")
        page.drag([(x - 42, y - 42), (x + 42, y + 42)])
        page.until("app.box !== null && app.label === arguments[0] && app.tool === 'object'", label)
        page.settled()
        labels = page.labels()
        assert labels[y, x] == label
        assert np.count_nonzero(labels[found > 0] != found[found > 0]) <= 0.02 * np.count_nonzero(found)
        assert set(np.unique(labels)) == set(range(label + 1))
        found = labels
    page.screenshot("boxes")

    # The box of the chosen object is shown.
    page.keys("1")
    assert page.js("app.box")[0] == PLACES[0][0] - 42
    page.keys("l")
    page.until("app.objects.of(1).locked")
    page.keys("o")
    page.stroke([(PLACES[3][0] - 8, PLACES[3][1]), (PLACES[3][0] + 8, PLACES[3][1])])
    page.settled()
    labels = page.labels()
    np.testing.assert_array_equal(labels == 1, found == 1)
    assert labels[PLACES[3][::-1]] == 4

    # A box for the locked object is refused.
    page.keys("1", "r")
    page.drag([(200, 200), (300, 300)])
    page.until("document.body.textContent.includes('Object 1 is locked')")
    np.testing.assert_array_equal(page.labels(), labels)
    assert page.js("Object.keys(app.state.boxes)") == ["1", "2", "3"]
    for _ in range(3):  # the stroke, the lock, and the box of object 3
        page.keys("z", control=True)
        page.settled()
    page.until("Object.keys(app.state.boxes).length === 2")
    page.settled()
    assert set(np.unique(page.labels())) == {0, 1, 2}
    page.screenshot("boxes-undone")
    page.keys("1", "d")
    page.drag([PLACES[0], (PLACES[0][0] + 60, PLACES[0][1])])
    page.hinted("stays inside its box: drag a larger box")


def disc_labels():
    """Labels of the cells, uint8 (H, W)."""
    y, x = np.mgrid[:320, :420]
    labels = np.zeros(y.shape, np.uint8)
    for label, (column, line) in enumerate(PLACES, 1):
        labels[(y - line) ** 2 + (x - column) ** 2 <= 30**2] = label
    return labels


def test_a_label_map_is_corrected_object_by_object(cells, browse):
    labels = disc_labels()
    labels[35:85, 40:80] = np.where(labels[35:85, 40:80] == 1, 0, labels[35:85, 40:80])  # a hole in the first cell
    Image.fromarray(labels).save(cells / "labels.png")
    page = browse("cells.png", "--out", "out", "--start", "labels.png")
    page.until(f"app.objects.known.length === {COUNT}")
    assert np.array_equal(page.labels(), labels)
    assert page.js("app.objects.known.every((one) => one.locked)")
    page.screenshot("label-map")
    row(page, 1, "lock").click()
    page.until("!app.objects.of(1).locked")
    page.keys("1")
    page.stroke([(45, 60), (75, 60)])
    page.stroke([(10, 10), (100, 10), (110, 110)], 2)
    page.settled()
    found = page.labels()
    assert found[60, 60] == 1
    assert np.array_equal(np.where(found == 1, 0, found), np.where(labels == 1, 0, labels))
    assert not (found[:, 110:] == 1).any()  # no pixel at the outlines of other cells, which have the same colours
    assert ((found == 1) == (disc_labels() == 1)).mean() > 0.99
    page.screenshot("label-map-corrected")


def test_the_other_object_that_fits_a_box(tmp_path, browse):
    """The page says that there is one, and T shows it; undo shows the first again."""
    photo, (x0, y0, x1, y1) = photo_of_two_objects()
    Image.fromarray(photo).save(tmp_path / "photo.png")
    page = browse("photo.png", "--out", "out")
    page.keys("t")  # nothing yet
    page.keys("r")
    page.drag([(x0, y0), (x1, y1)])
    page.until("document.body.textContent.includes('Another object fits the box as well: T shows it')")
    page.settled()
    first = page.labels() == 1
    page.screenshot("rival")
    page.keys("t")
    page.until("!document.body.textContent.includes('Another object fits')")
    page.keys("t")
    page.until("document.getElementById('hint').textContent === 'No other object fits this box'")
    page.settled()
    second = page.labels() == 1
    assert np.count_nonzero(first & second) < 0.9 * np.count_nonzero(first | second)
    assert min(np.count_nonzero(first), np.count_nonzero(second)) > 100
    page.keys("z", control=True)
    page.until("document.body.textContent.includes('Another object fits')")
    np.testing.assert_array_equal(page.labels() == 1, first)
