"""The tools that set pixels by hand, on the page: Solid, Push, Select, tighter and wider; and Look."""

import numpy as np

from tests.apps.app.browser_page import PLACES
from tests.chromium import IN_BROWSER

pytestmark = IN_BROWSER


def changed(page, before):
    page.until("app.state.pending === false")
    return page.labels() != before


def test_solid_brush(cells, browse):
    """Exactly these pixels, by pointer and keys; nothing drawn later changes them, until they are erased."""
    page = browse("cells.png", "--out", "out")
    page.objects(1)
    page.settled()
    before = page.labels().copy()
    page.keys("p")
    assert page.js("app.tool") == "solid"
    page.drag([(200, 200), (240, 210)])
    page.until("app.mask.at([220, 205]) === 1")
    solid = changed(page, before)
    assert solid[:180].sum() == solid[:, :150].sum() == 0
    assert (page.labels()[solid] == 1).all()
    page.drag([PLACES[0], (PLACES[0][0] + 3, PLACES[0][1])], 2)
    page.until("app.mask.at(arguments[0]) === 0", PLACES[0])
    fixed = changed(page, before)
    kept = page.labels().copy()
    page.screenshot("solid")
    page.keys("d")
    page.stroke([(20, 200), (120, 260)])
    page.stroke([(190, 205), (260, 205)], 2)
    page.settled()
    np.testing.assert_array_equal(page.labels()[fixed], kept[fixed])
    page.driver.refresh()
    page.ready()
    page.settled()
    np.testing.assert_array_equal(page.labels()[fixed], kept[fixed])
    page.keys("x")
    page.drag([(190, 205), (260, 205)])
    page.until("app.mask.at([220, 205]) === 0")


def test_push_edge(cells, browse):
    """From inside, the outline moves out to the next edge; all outside of the disc stays."""
    page = browse("cells.png", "--out", "out")
    page.objects(1)
    page.keys("d")
    page.drag([(60, 38), (60, 40)], 2)
    page.settled()
    before = page.labels().copy()
    page.keys("e")
    assert page.js("app.tool") == "push"
    page.drag([(60, 82), (60, 96)])
    page.until("app.mask.at([60, 95]) === 1")
    moved = changed(page, before)
    radius = page.js("app.radius")
    rows, columns = np.nonzero(moved)
    assert (np.abs(columns - 60) <= radius + 1).all()
    assert rows.min() >= 80 - radius
    page.screenshot("push")
    page.keys("z", control=True)
    page.until("app.mask.at([60, 95]) === 0")
    np.testing.assert_array_equal(page.labels(), before)


def test_quick_select(cells, browse):
    """A press in a cell selects it, without a mark of the background, and the right button takes it away."""
    page = browse("cells.png", "--out", "out")
    page.keys("q")
    page.drag([(PLACES[5][0] - 6, PLACES[5][1]), (PLACES[5][0] + 6, PLACES[5][1])])
    page.until("app.mask.at(arguments[0]) === 1", (PLACES[5][0], PLACES[5][1] + 20))
    page.until("app.state.pending === false")
    y, x = np.mgrid[:320, :420]
    cell = np.hypot(x - PLACES[5][0], y - PLACES[5][1]) <= 30
    found = page.labels() == 1
    assert (found & cell).sum() > 0.95 * (found | cell).sum()
    page.screenshot("select")
    page.drag([(PLACES[5][0] - 6, PLACES[5][1]), (PLACES[5][0] + 6, PLACES[5][1])], 2)
    page.until("app.mask.at(arguments[0]) === 0", PLACES[5])
    page.until("document.getElementById('hint').textContent.startsWith('This takes away')")
    page.keys("z", control=True)
    page.until("app.mask.at(arguments[0]) === 1", PLACES[5])
    page.js("document.getElementById('tolerance').value = 40")
    page.drag([(110, 110), (112, 112)])  # the ground
    page.hinted("of the image, up to its border. Too much?")


def test_tighter_and_wider(cells, browse):
    """The slider shows nested objects, and its release keeps one."""
    page = browse("cells.png", "--out", "out")
    page.objects(1)
    page.settled()
    before = page.labels() == 1
    slide = "(() => { const one = document.getElementById('wider'); one.value = arguments[0]; one.oninput(); })()"
    for step, is_wider in ((20, True), (-20, False)):
        count = page.js("app.mask.counts.get(1)")
        page.js(slide, step)
        page.until(f"app.mask.counts.get(1) {'>' if is_wider else '<'} arguments[0]", count)
        found = page.labels() == 1
        assert (found[before].all() and found.sum() > before.sum()) if is_wider else not found[~before].any()
    page.screenshot("wider")
    page.js("document.getElementById('wider').onchange()")
    page.until("app.state.undo && document.getElementById('wider').value === '0'")
    page.until("document.getElementById('hint').textContent.startsWith('Object 1: ')")
    page.until("app.state.pending === false")
    np.testing.assert_array_equal(page.labels() == 1, found)
    page.keys("z", control=True)
    page.until("app.mask.counts.get(1) === arguments[0]", int(before.sum()))


def middle_of(page, name, share=0.5):
    rect = page.driver.find_element("id", name).rect
    return rect["x"] + share * rect["width"], rect["y"] + rect["height"] / 2


def test_by_keys(cells, browse):
    """At a cross-hair; Select and Solid take away when their key is pressed again."""
    page = browse("cells.png", "--out", "out")
    page.objects(1)
    right, space = "\ue014", "\ue00d"
    page.js("document.getElementById('top').focus()")
    page.keys(right)
    for key, (x, y), answer in (("q", PLACES[1], 1), ("q", PLACES[1], 0), ("p", PLACES[2], 1), ("p", PLACES[2], 0)):
        page.keys(key)
        page.js("app.tools.cross = [arguments[0] + 0.5, arguments[1] + 0.5]", x, y)
        page.keys(space)
        page.until("app.mask.at(arguments[0]) === arguments[1]", (x, y), answer)
    page.keys("e")
    page.js("app.tools.cross = [60.5, 88.5]")
    before = page.js("app.mask.counts.get(1)")
    page.keys(space)
    page.until("app.mask.counts.get(1) > arguments[0]", before)
    before = page.js("app.mask.counts.get(1)")
    page.js("document.getElementById('wider').focus()")
    page.keys(*[right] * 20)
    page.until("app.mask.counts.get(1) > arguments[0]", before)


def test_by_touch(cells, browse):
    """By a finger, which the tools at the bottom let scroll; Select and Solid take away when they are tapped again."""
    page = browse("cells.png", "--out", "out")
    page.objects(1)
    page.telephone()
    page.js("app.setLabel(1)")
    for tool, (x, y), answer in (
        ("select", PLACES[5], 1),
        ("select", PLACES[5], 0),
        ("solid", PLACES[6], 1),
        ("solid", PLACES[6], 0),
        ("push", (60, 90), 1),
    ):
        page.js("document.getElementById(`tool-${arguments[0]}`).scrollIntoView()", tool)
        page.tap(middle_of(page, f"tool-{tool}"))
        page.until("app.tool === arguments[0]", tool)
        hint = page.driver.find_element("id", "hint").text
        assert "key" not in hint
        assert "button" not in hint
        page.tap(*page.screen([(x - 4, y - 4), (x + 4, y + 4)]))
        page.until("app.mask.at(arguments[0]) === arguments[1]", (x, y + 4), answer)
    page.until("app.state.pending === false")
    page.screenshot("by-hand-telephone")
    assert page.js("document.documentElement.scrollWidth") == 390
    before = page.js("app.mask.counts.get(1)")
    page.tap(middle_of(page, "panel-button"))
    page.until("document.getElementById('panel').matches(':popover-open')")
    page.tap(middle_of(page, "wider", 0.98))
    page.until("app.mask.counts.get(1) > arguments[0]", before)
    page.until("app.state.pending === false")
    page.tap(middle_of(page, "look"))
    page.until("app.look.place !== null || document.getElementById('hint').textContent.includes('nowhere')")
    assert page.js("document.querySelector(':popover-open')") is None
    page.screenshot("look-telephone")


def test_where_to_look(cells, browse):
    """Shades what is unsure, marks a place, and follows the strokes, until the key is pressed again."""
    page = browse("cells.png", "--out", "out")
    page.keys("u")
    page.hinted("no cut yet")
    page.keys("u")
    page.objects(1)
    page.keys("d")
    page.drag([(60, 38), (60, 40)], 2)
    page.settled()
    page.keys("u")
    page.until("app.look.place !== null || document.getElementById('hint').textContent.includes('nowhere')")
    assert page.js("document.getElementById('look').getAttribute('aria-pressed')") == "true"
    assert page.js("app.look.mask.counts.get(0) / app.look.mask.labels.length") > 0.9
    page.until("/Object 1\\? A stroke|Object 1 is unsure nowhere/.test(document.getElementById('hint').textContent)")
    page.screenshot("look")
    version = page.js("app.state.version")
    page.stroke([(20, 200), (60, 260)])
    page.settled()
    page.until("app.state.version > arguments[0] && app.look.isOn", version)
    page.click("look")
    assert page.js("[app.look.isOn, app.look.place]") == [False, None]


def test_sideways_changes_the_tolerance(cells, browse):
    """With Shift, while the button is down: what is selected follows, and the stroke stays."""
    page = browse("cells.png", "--out", "out")
    page.keys("q")
    ((x, y),) = page.screen([PLACES[5]])
    mouse = {"x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
    page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", mouse | {"type": "mousePressed"})
    page.until("app.mask.at(arguments[0]) === 1", PLACES[5])
    points = page.js("app.tools.stroke.points.length")
    for step in (30, 80):
        moved = {"type": "mouseMoved", "x": x + step, "modifiers": 8}
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", mouse | moved)
    page.until("document.getElementById('tolerance').value === '20'")
    assert page.js("app.tools.stroke.points.length") == points
    page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", mouse | {"type": "mouseReleased", "x": x + 80})
    page.until("app.state.undo")


def test_tools_of_images_say_that_a_volume_has_none(tmp_path, browse):
    np.save(tmp_path / "volume.npy", np.random.default_rng(0).integers(0, 255, (8, 40, 50), np.uint8))
    page = browse("volume.npy", "--out", "out")
    for key in "qpe":
        page.keys(key)
        assert page.js("app.tool") == "object"
        assert "change images only" in page.js("document.getElementById('hint').textContent")
    assert not page.driver.find_element("id", "tool-select").is_displayed()


def test_where_to_look_in_a_volume(tmp_path, browse):
    """The page goes to the slice of the ring; strokes there change the answer."""
    y, x = np.ogrid[:60, :90]
    plane = np.where((y - 30) ** 2 + (x - 25) ** 2 < 18**2, 150.0, 80.0)
    plane[30:44, 40:70] = 115
    noise = np.random.default_rng(0).normal(0, 20, (12, 60, 90))
    np.save(tmp_path / "volume.npy", np.uint8((plane + noise).clip(0, 255)))
    page = browse("volume.npy", "--out", "out")
    page.stroke([(18, 30), (32, 30)])
    page.stroke([(8, 6), (82, 6)], 2)
    page.settled()
    page.keys("u")
    page.until("app.look.place && app.slices.index === app.look.place[0]")
    version = page.js("app.state.version")
    page.screenshot("look-volume")
    z, row, column = page.js("app.look.place")
    page.stroke([(column + 0.5, row + 0.5)], 2)
    page.settled()
    page.until("app.state.version > arguments[0]", version)
    assert page.js("app.slices.index") == z
    page.keys("u")
    assert page.js("app.look.place") is None
