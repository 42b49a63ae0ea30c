"""Areas, label maps and copies of strokes in a real browser.

CUTMATCH_SCREENSHOTS=FOLDER keeps screenshots.
"""

import numpy as np
from PIL import Image

from tests.apps.app.browser_page import COUNT, IN_BROWSER, PLACES, no_errors, row

pytestmark = IN_BROWSER


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
    assert no_errors(page)


def test_areas(cells, browse):
    """Drawn around a cell, and by clicks on its corners; the background with the right button."""
    page = browse("cells.png", "--out", "out")
    page.keys("g")
    (x, y), (u, v) = PLACES[:2]
    page.stroke([(x - 12, y - 12), (x + 12, y - 12), (x + 12, y + 12), (x - 12, y + 12), (x - 12, y - 8)])
    page.until("[...app.strokes.all()][0].filled")
    assert page.js("app.tool") == "area"
    page.stroke([(10, 130), (400, 130), (400, 150), (10, 150), (10, 140)], 2)
    page.settled()
    assert (page.labels()[y - 11 : y + 11, x - 11 : x + 11] == 1).all()
    page.keys("o")
    count = page.js("app.state.order.length")
    for corner in ((u - 14, v - 14), (u + 14, v - 14), (u + 14, v + 14)):
        page.drag([corner])
    page.screenshot("area")
    assert page.js("app.state.order.length") == count
    page.keys("\ue007")  # Enter
    page.until("app.state.order.length === arguments[0]", count + 1)
    page.settled()
    assert page.labels()[v - 8, u + 8] == 2
    # Escape gives an area up; a click on its first corner ends it.
    for corner in ((u - 14, v - 14), (u + 14, v - 14)):
        page.drag([corner])
    page.keys("\ue00c")
    assert page.js("app.tools.stroke") is None
    for corner in ((300, 230), (320, 230), (320, 250), (300, 230)):
        page.drag([corner])
    page.until("app.state.order.length === arguments[0]", count + 2)
    assert no_errors(page)


def test_strokes_are_copied_to_the_next_image(cells, browse):
    pixels = np.array(Image.open(cells / "cells.png"))
    (cells / "frames").mkdir()
    for k in range(2):
        Image.fromarray(np.roll(pixels, 2 * k, axis=1)).save(cells / "frames" / f"frame{k}.png")
    page = browse("frames", "--out", "out")
    draw_a_cell(page)
    page.keys("c")
    page.ready(1)
    page.until("app.state.order.length > 0 && !app.strokes.own.size")
    page.settled()
    assert page.labels()[PLACES[0][::-1]] == 1
    page.keys("c")  # the last image has no next one
    assert page.js("app.item") == 1
    assert no_errors(page)


def test_strokes_are_copied_to_the_next_slice(cells, browse):
    pixels = np.array(Image.open(cells / "cells.png"))
    np.save(cells / "scan.npy", np.float32([np.roll(pixels[..., 0], k, axis=1) for k in range(8)]))
    page = browse("scan.npy", "--out", "out")
    draw_a_cell(page)
    index = page.js("app.index")
    page.keys("c")
    copied = "app.index === arguments[0] && [...app.strokes.all()].some((one) => one.index === arguments[0])"
    page.until(copied, index + 1)
    page.settled()
    assert page.labels()[PLACES[0][::-1]] == 1
    assert no_errors(page)


def draw_a_cell(page):
    page.stroke([PLACES[0], (PLACES[0][0] + 8, PLACES[0][1])])
    page.stroke([(10, 150), (400, 150)], 2)
    page.settled()
