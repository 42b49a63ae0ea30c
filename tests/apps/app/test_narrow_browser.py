"""The page in a window of the size of a telephone, by touch; by the keyboard alone; and without an image.

CUTMATCH_SCREENSHOTS=FOLDER keeps screenshots.
"""

from tests.apps.app.browser_page import PLACES
from tests.chromium import IN_BROWSER

pytestmark = IN_BROWSER
FINGER = 44  # pixels of a target


def touch(page, points):
    """Move a finger over points of the image."""
    count = page.js("app.state.order.length")
    page.tap(*page.screen(points))
    page.until("app.state.order.length > arguments[0] && !app.strokes.own.size", count)


def test_touch_on_a_telephone(cells, browse):
    page = browse("cells.png", "--out", "out")
    page.telephone()
    assert page.js("document.documentElement.scrollWidth") == 390
    assert page.driver.find_element("id", "stage").rect["width"] == 390
    buttons = [one for one in page.driver.find_elements("css selector", "button") if one.is_displayed()]
    assert len(buttons) >= 8
    assert min(min(one.rect["width"], one.rect["height"]) for one in buttons) >= FINGER
    # Where kernels are compiled first, the hint says so meanwhile.
    page.hinted("tap Box and drag a box")
    (x, y), beside = PLACES[5], (PLACES[5][0] + 50, PLACES[5][1] + 50)
    touch(page, [(x - 8, y), (x + 8, y)])
    page.until("document.getElementById('hint').textContent.startsWith('If the outline fits, tap Save')")
    assert "tap Background" in page.driver.find_element("id", "hint").text
    page.click("tool-background")
    tools = page.driver.find_elements("css selector", "#tools > button")
    assert all(one.get_property("scrollWidth") <= one.get_property("clientWidth") for one in tools)
    touch(page, [beside, (beside[0] + 5, beside[1] + 5)])
    page.settled()
    assert page.labels()[y, x] == 1
    assert page.labels()[beside[::-1]] == 0
    page.click("save")
    page.until("document.getElementById('hint').textContent === 'Saved cells-mask.png, cells-cutout.png in ./out'")
    page.click("panel-button")
    page.screenshot("telephone-panel")
    page.keys("\ue00c")
    assert not page.driver.find_element("id", "panel").is_displayed()
    page.screenshot("telephone")


def test_a_pinch_changes_no_history(cells, browse):
    page = browse("cells.png", "--out", "out")
    page.telephone()
    for (x, y), tool in ((PLACES[5], "object"), ((110, 110), "background"), ((110, 10), "background")):
        page.click(f"tool-{tool}")
        touch(page, [(x, y), (x + 5, y)])
    page.click("undo")
    page.until("app.state.order.length === 2 && app.state.redo")
    drawn = page.js("app.state.order.length")  # further strokes are sent in parts
    zoom = page.js("app.view.scale")
    first, moved = page.screen([(180, 200), (200, 200)])
    page.fingers("touchStart", first)
    page.fingers("touchMove", moved)
    page.until("app.state.order.length > arguments[0]", drawn)
    other = (moved[0] + 60, moved[1])
    page.fingers("touchStart", moved, other)
    page.fingers("touchMove", moved, (other[0] + 60, other[1]))
    page.fingers("touchEnd")
    page.until("app.state.order.length === arguments[0]", drawn)
    assert page.js("app.view.scale") > zoom
    page.click("redo")
    page.until("app.state.order.length > arguments[0] && !app.state.redo", drawn)


def test_a_new_image_starts_with_the_object_or_a_box(photographs, browse):
    page = browse("in", "--out", "out")
    title = page.driver.find_element("id", "title")
    assert title.text == "1/2 astronaut.png"
    page.click("tool-erase")
    page.keys("2", "n")
    page.ready(1)
    assert title.text.startswith("2/2 ")
    assert page.js("[app.tool, app.label]") == ["object", 1]
    assert page.driver.find_element("id", "tool-object").text == "Object"
    page.keys("n", shift=True)
    page.ready(0)
    assert page.js("app.state.undo") is False
    page.keys("r")
    page.drag([(60, 10), (440, 290)])
    page.until("app.box !== null")
    page.keys("n")
    page.ready(1)
    assert page.js("app.tool") == "box"
    page.drag([(-9, -9), (460, 310)])  # around the whole image
    page.until("document.getElementById('hint').className === 'error'")
    assert page.js("app.tool") == "box"
    page.until("app.items[0].state === 'started'")
    page.keys("n", shift=True)  # which has a box already
    page.ready(0)
    assert page.js("app.tool") == "object"


def test_another_image_is_opened_while_one_is_loaded(photographs, browse):
    page = browse("in", "--out", "out")
    page.js(
        """(() => { globalThis.asked = [];
        const { image, connection } = app, load = image.load.bind(image), send = connection.send.bind(connection);
        image.load = async (address) => {
          const loaded = await load(address);
          image.load = load;
          app.open(0);
          return loaded; };
        connection.send = (message) => {
          asked.push([message.do, message.item, app.info?.item]);
          return send(message); };
        app.open(1); })()"""
    )
    page.until("asked.length > 2 && app.state.item === 0")
    assert page.js("asked") == [["open", 1, None], ["open", 0, None], ["slice", 0, 0]]


def test_an_answer_is_awaited_at_once(cells, browse):
    page = browse("cells.png", "--out", "out")
    x, y = page.screen([PLACES[5]])[0]
    said = page.js(
        """(() => {
        const at = {clientX: arguments[0], clientY: arguments[1], pointerId: 1, bubbles: true, cancelable: true};
        for (const kind of ["pointerdown", "pointerup"])
          document.getElementById("top").dispatchEvent(new PointerEvent(kind, at));
        return ["hint", "certificate"].map((id) => document.getElementById(id).textContent)
          .concat(document.getElementById("busy").hidden); })()""",
        x,
        y,
    )
    assert said[0].startswith(("Working…", "Getting ready"))
    assert said[1:] == ["working…", False]
    page.until("app.state.order.length === 1")
    page.settled()
    assert "final ✓" in page.driver.find_element("id", "certificate").text


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
    page.until("app.box && app.box[2] === arguments[0] + 1", end[0])


def test_the_sample_photograph(browse):
    page = browse("--out", "out", ready=False)
    page.until("document.getElementById('card').className === 'empty'")
    assert not page.driver.find_element("id", "save").is_enabled()
    page.click("sample")
    page.ready()
