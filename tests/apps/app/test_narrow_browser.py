"""The page in a window of the size of a telephone, by touch; by the keyboard alone; and without an image.

CUTMATCH_SCREENSHOTS=FOLDER keeps screenshots.
"""

from tests.apps.app.browser_page import IN_BROWSER, PLACES, no_errors

pytestmark = IN_BROWSER
FINGER = 44  # pixels of a target


def touch(page, points):
    """Move a finger over points of the image."""
    count = page.js("app.state.order.length")
    for kind, place in zip(("touchStart", *["touchMove"] * (len(points) - 1)), page.screen(points), strict=True):
        place = dict(zip("xy", place, strict=True))
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place]})
    page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.until("app.state.order.length > arguments[0] && !app.strokes.own.size", count)


def test_touch_on_a_telephone(cells, browse):
    page = browse("cells.png", "--out", "out")
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    page.driver.refresh()
    page.ready()
    assert page.js("document.documentElement.scrollWidth") == 390
    assert page.driver.find_element("id", "stage").rect["width"] == 390
    buttons = [one for one in page.driver.find_elements("css selector", "button") if one.is_displayed()]
    assert len(buttons) >= 8
    assert min(min(one.rect["width"], one.rect["height"]) for one in buttons) >= FINGER
    assert "finger" in page.driver.find_element("id", "hint").text
    (x, y), beside = PLACES[5], (PLACES[5][0] + 50, PLACES[5][1] + 50)
    touch(page, [(x - 8, y), (x + 8, y)])
    page.until("document.getElementById('hint').textContent.startsWith('Right? Tap Save')")
    assert "tap Background" in page.driver.find_element("id", "hint").text
    page.click("tool-background")
    tools = page.driver.find_elements("css selector", "#tools > button")
    assert all(one.get_property("scrollWidth") <= one.get_property("clientWidth") for one in tools)
    touch(page, [beside, (beside[0] + 5, beside[1] + 5)])
    page.settled()
    assert page.labels()[y, x] == 1
    assert page.labels()[beside[::-1]] == 0
    page.click("save")
    page.until("document.getElementById('hint').textContent === 'Saved cells-mask.png, cells-cutout.png in out'")
    page.click("panel-button")
    page.screenshot("telephone-panel")
    page.click("panel-button")
    assert not page.driver.find_element("id", "panel").is_displayed()
    page.screenshot("telephone")
    assert no_errors(page)


def test_marks_by_the_keyboard_alone(cells, browse):
    """A stroke, the background, a box by its corners, and the control with the focus after a drawer is closed."""
    page = browse("cells.png", "--out", "out")
    right, left, up, space = "\ue014", "\ue012", "\ue013", "\ue00d"
    page.keys(right)
    assert page.driver.switch_to.active_element.get_attribute("id") == "top"
    x, y = PLACES[6]
    page.js("app.tools.cross = [arguments[0] + 0.5, arguments[1] + 0.5]", x, y)
    page.keys(right, left)
    page.keys(space)
    page.until("app.state.order.length === 1 && !app.strokes.own.size")
    page.keys("b", *[right] * 12, space)
    page.until("app.state.order.length === 2 && !app.strokes.own.size")
    page.settled()
    page.screenshot("keyboard")
    end = page.js("app.tools.cross.map(Math.floor)")
    assert page.labels()[y, x] == 1
    assert page.labels()[end[1], end[0]] == 0
    page.keys("r", space, *[up] * 20, *[left] * 30, space)
    page.until("app.state.box && app.state.box[2] === arguments[0] + 1", end[0])
    assert no_errors(page)


def test_states_without_an_image(photographs, browse):
    (photographs / "in" / "a.jpg").write_bytes(b"no image")
    page = browse("in", "--out", "out", ready=False)
    page.until("document.getElementById('card').className === 'unreadable'")
    assert "a.jpg cannot be opened" in page.driver.find_element("id", "card").text
    assert not page.driver.find_element("id", "tool-object").is_enabled()
    page.screenshot("unreadable")
    page.keys("n")
    page.ready(1)
    assert not page.driver.find_element("id", "card").is_displayed()
    assert page.driver.find_element("id", "tool-object").is_enabled()


def test_the_sample_photograph(tmp_path, browse):
    page = browse("--out", "out", ready=False)
    page.until("document.getElementById('card').className === 'empty'")
    assert not page.driver.find_element("id", "save").is_enabled()
    page.screenshot("empty")
    page.click("sample")
    page.ready()
    page.stroke([(220, 60), (230, 130)])
    page.until("document.getElementById('areas').textContent.startsWith('Object ')")
    assert no_errors(page)
