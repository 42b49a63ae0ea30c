"""The page in a real browser: strokes by the pointer, keys, displays, and files that other programs read.

CUTMATCH_SCREENSHOTS=FOLDER keeps screenshots, among them the one of docs/guide/app.md.
"""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from apps import cli
from apps.common.images import read_image
from apps.session import Session
from apps.session.canvas import Canvas
from tests.apps.app.browser_page import OBJECT
from tests.apps.conftest import iou
from tests.chromium import IN_BROWSER

pytestmark = IN_BROWSER


def test_an_object_is_cut_and_saved(photographs, browse):
    page = browse("in", "--out", "out")
    page.astronaut()
    page.until("app.state.certified")
    found = page.labels() > 0
    page.screenshot("app")

    # Undo and redo, by keys and by buttons.
    drawn = page.js("app.state.order.length")  # with the parts in which strokes were sent
    page.keys("z", control=True)
    page.until("app.state.order.length < arguments[0]", drawn)
    page.click("redo")
    page.until("app.state.order.length === arguments[0]", drawn)
    page.settled()
    assert iou(page.labels() > 0, found) > 0.999

    # Files, each read by another program.
    for box in page.driver.find_elements("css selector", "#kinds input"):
        if not box.is_selected():
            box.click()
    page.keys("s", control=True)
    page.until("document.getElementById('saved').textContent.startsWith('Saved')")
    check_files(photographs / "out", found)

    # The command with the same strokes.
    (photographs / "copy").mkdir()
    for path in (photographs / "out").glob("astronaut-session*"):
        shutil.copy(path, photographs / "copy")
    rgb = read_image(photographs / "in" / "astronaut.png")
    with Session.load(photographs / "copy" / "astronaut-session.sqlite", rgb) as session:
        canvas = Canvas(rgb.shape[:2], rgb.shape[:2])
        canvas.change_to(session.records)
    marks = canvas.all_marks()
    Image.fromarray(np.choose(marks + 1, (0, 2, 1)).astype(np.uint8)).save(photographs / "strokes.png")
    arguments = ["--strokes", photographs / "strokes.png", "--out", photographs / "command", "--device", "cpu"]
    assert cli.main(["segment", *map(str, (photographs / "in" / "astronaut.png", *arguments)), "--quiet"]) == 0
    assert iou(np.array(Image.open(photographs / "command" / "astronaut-mask.png")) > 0, found) >= 0.98

    # The next image, with a box.
    page.keys("n")
    page.ready(1)
    page.keys("r")
    page.drag([(60, 10), (440, 290)])
    page.until("app.box !== null")
    page.settled()
    assert (page.labels() > 0).mean() > 0.05
    page.screenshot("box")
    page.keys("n", shift=True)
    page.ready(0)
    page.settled()
    assert iou(page.labels() > 0, found) > 0.999


def check_files(folder, found):
    import tifffile
    from pycocotools.coco import COCO
    from shapely.geometry import shape

    assert np.array_equal(np.array(Image.open(folder / "astronaut-mask.png")) > 0, found)
    assert np.array(Image.open(folder / "astronaut-cutout.png")).shape == (*found.shape, 4)
    assert np.array_equal(np.array(Image.open(folder / "astronaut-labels.png")) == 1, found)
    assert np.array_equal(tifffile.imread(folder / "astronaut-labels.tif") == 1, found)
    for name in ("coco", "coco-rle"):
        coco = COCO(folder / f"astronaut-{name}.json")
        masks = [coco.annToMask(one) > 0 for one in coco.loadAnns(coco.getAnnIds())]
        assert iou(np.any(masks, axis=0), found) > 0.99
    features = json.loads((folder / "astronaut-outlines.geojson").read_bytes())["features"]
    assert sum(shape(one["geometry"]).area for one in features) == found.sum()
    assert json.loads((folder / "astronaut-labelme.json").read_bytes())["imageWidth"] == found.shape[1]


def test_tools_and_displays(photographs, browse):
    page = browse("in/astronaut.png", "--out", "out")
    assert not page.driver.find_element("id", "files").is_displayed()
    page.stroke(OBJECT[0])
    page.hinted("background")
    page.astronaut()

    page.keys("2")
    page.stroke([(380, 60), (385, 120)])
    page.until("app.state.labels.length === 3")
    page.settled()
    assert set(np.unique(page.labels())) == {0, 1, 2}
    page.screenshot("labels")

    page.keys("x")
    page.drag([(380, 60), (385, 120)])
    page.until("app.state.labels.length === 2")

    # A stroke is drawn at once, by the page itself; Escape gives it up.
    before = page.js("app.state.order.length")
    radius = page.js("app.radius")
    page.keys("]", "]")
    assert page.js("app.radius") > radius

    zoom = page.js("app.view.scale")
    fixed = page.screen([(256, 256)])[0]
    page.js(
        "document.getElementById('top').dispatchEvent(new WheelEvent('wheel', "
        "{deltaY: -300, clientX: arguments[0], clientY: arguments[1], cancelable: true}))",
        *fixed,
    )
    assert page.js("app.view.scale") > 1.3 * zoom
    assert np.abs(np.subtract(page.screen([(256, 256)])[0], fixed)).max() <= 1
    page.screenshot("zoom")
    page.keys("f")
    assert page.js("app.view.scale") == pytest.approx(zoom)

    for display in ("contour", "cutout", "both"):
        page.keys("v")
        assert page.js("app.display") == display
        page.screenshot(display)
    page.keys("?")
    assert page.driver.find_element("id", "help").is_displayed()
    page.screenshot("help")
    page.keys("\ue00c")
    assert page.js("app.state.order.length") == before


@pytest.fixture
def inside(tmp_path):
    """The ellipsoid in scan.npy."""
    z, y, x = np.mgrid[:30, :60, :70]
    inside = (2 * (z - 15)) ** 2 + (y - 30) ** 2 + (x - 35) ** 2 < 18**2
    volume = np.float32(100 * inside + np.random.default_rng(0).normal(0, 10, inside.shape))
    np.save(tmp_path / "scan.npy", volume)
    return inside


def test_slices_of_a_volume(inside, browse):
    page = browse("scan.npy", "--out", "out")
    page.stroke([(30, 30), (40, 30)])
    page.stroke([(5, 5), (60, 5)], 2)
    page.settled()
    assert iou(page.labels() > 0, inside[15]) > 0.95
    page.screenshot("volume")
    page.keys("\ue013")
    page.until("app.index === 16")
    page.drag([(35, 30)], 1)  # the place that the next axis goes through
    page.keys("a")
    page.until("app.axis === 1 && app.mask.height === 30")
    page.until("app.mask.labels.some((label) => label > 0)")
    assert iou(page.labels() > 0, inside[:, 30]) > 0.9


def test_where_a_slice_is(inside, tmp_path, browse):
    """Letters of the patient's sides, world coordinates, slices through the same place, and the slices with strokes."""
    sitk = pytest.importorskip("SimpleITK", reason="needs the extra 'volumes'")
    scan = sitk.GetImageFromArray(np.load(tmp_path / "scan.npy"))
    scan.SetSpacing((0.5, 0.5, 2.0))
    scan.SetOrigin((-10.0, 20.0, 30.0))
    scan.SetDirection((-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    sitk.WriteImage(scan, str(tmp_path / "scan.nii.gz"))
    page = browse("scan.nii.gz", "--out", "out")
    assert page.js("app.info.letters") == ["IS", "AP", "LR"]
    page.stroke([(30, 30), (40, 30)])
    assert page.js("[...document.querySelectorAll('#marked-slices option')].map(({ value }) => value)") == ["15"]
    page.drag([(50.5, 20.5)], 1)
    page.until("app.pixel && app.pixel.join() === '50,20'")
    assert page.driver.find_element("id", "pointer").text == "50, 20, 15 · -35.0, 30.0, 60.0 mm"
    page.screenshot("volume-letters")
    page.keys("a")
    page.until("app.axis === 1 && app.index === 20")
    page.screenshot("volume-place")
    page.js("app.slices.setAxis(2)")
    page.until("app.axis === 2")


def test_a_box_in_slices_of_a_volume(inside, browse):
    """A box in a slice covers all slices; one in a slice of another axis narrows it along the third."""
    page = browse("scan.npy", "--out", "out")
    page.keys("r")
    page.drag([(12, 8), (58, 53)])
    page.until("app.box && app.box.join() === '12,8,0,58,53,30'")
    page.settled()
    assert page.js("app.shownBox") == [12, 8, 58, 53]
    assert iou(page.labels() > 0, inside[15]) > 0.95
    page.screenshot("volume-box")
    page.drag([(35, 30)], 1)
    page.keys("a", "r")
    page.until("app.axis === 1 && app.mask.height === 30")
    page.drag([(12, 4), (58, 26)])
    page.until("app.box && app.box.join() === '12,8,4,58,53,26'")
    page.settled()
    assert page.js("app.shownBox") == [12, 4, 58, 26]
    assert iou(page.labels() > 0, inside[:, 30]) > 0.95
    page.keys("a")
    page.until("app.axis === 2")
    page.js("app.slices.set(2)")
    assert page.js("app.shownBox") is None


def test_a_mask_in_a_file(photographs, browse):
    page = browse("in/astronaut.png", "--out", "out")
    y, x = np.mgrid[:512, :512]
    Image.fromarray(np.hypot(y - 250, x - 220) < 140).save(photographs / "rough.png")
    page.driver.execute_script("document.getElementById('mask-file').click = () => {}")  # no dialog
    page.driver.find_element("id", "start-mask").click()
    (photographs / "bad.png").write_text("nothing")
    chooser, hint = (page.driver.find_element("id", name) for name in ("mask-file", "hint"))
    chooser.send_keys(str(photographs / "bad.png"))
    page.until("document.getElementById('hint').className === 'error'")
    assert "bad.png" in hint.text
    chooser.send_keys(str(photographs / "rough.png"))
    page.until("app.state.undo")
    assert hint.get_attribute("class") != "error"  # it is gone with the file
    page.settled()
    assert 0 < (page.labels() > 0).mean() < 1
    assert page.driver.find_element("id", "clear").is_enabled()
    page.stop()
    page.until("!document.getElementById('lost').hidden")
    page.drag(OBJECT[0])
    assert page.js("app.strokes.own.size === 1 && !app.state.pending")
    assert "working" not in page.driver.find_element("id", "status").text


def test_an_uploaded_file_and_a_lost_connection(photographs, browse):
    page = browse("in/astronaut.png", "--out", "out")
    (photographs / "in" / "astronaut.png").rename(photographs / "dropped.png")
    page.js("app.connection.handlers.items = () => {}")  # as if the socket's message arrived after the answer
    page.driver.find_element("id", "image-file").send_keys(str(photographs / "dropped.png"))
    page.ready(1)
    assert page.js("app.items.map((one) => one.name)") == ["astronaut.png", "dropped.png"]
    page.stroke([(220, 60), (230, 130)])
    page.driver.refresh()
    page.ready(1)
    assert page.js("app.state.order.length") == 1
    page.until("[...app.strokes.all()].length === 1")


def test_another_image_with_the_button_down(photographs, browse):
    """The stroke is given up, and blocks nothing."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    page = browse("in", "--out", "out")
    page.astronaut()
    before = page.js("app.state.order.length")
    builder = ActionBuilder(page.driver, duration=150)
    builder.pointer_action.move_to_location(*page.screen([(100, 100)])[0])
    builder.pointer_action.pointer_down(0)
    for place in page.screen([(110, 100), (120, 110), (130, 120), (140, 130)]):
        builder.pointer_action.move_to_location(*place)
    builder.perform()
    page.keys("n")
    page.ready(1)
    page.keys("n", shift=True)
    page.ready(0)
    assert page.js("app.state.order.length") == before
    builder = ActionBuilder(page.driver)
    builder.pointer_action.pointer_up(0)
    builder.perform()
    page.stroke([(60, 300), (60, 400)], 2)
    page.settled()
    assert page.js("app.state.order.length") > before
    page.keys("s", control=True)
    page.until("document.getElementById('saved').textContent.startsWith('Saved')")


def test_an_image_is_saved_while_another_is(cells, browse):
    shutil.copy(cells / "cells.png", cells / "more.png")
    page = browse("cells.png", "more.png", "--out", "out")
    page.js("app.connection.handlers.saved = () => {}")  # as if the first answer were still awaited
    for item in (0, 1):
        page.ready(item)
        page.stroke([(150, 160), (170, 160)])
        page.keys("\ue007")
    page.until("app.items.every(({ state }) => state === 'done')")


def test_one_tab_draws_on_an_image(photographs, browse):
    page = browse("in", "--out", "out")
    page.stroke(OBJECT[0])
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.driver.get(page.address)
    page.ready()
    assert page.js("app.state.order.length") > 0
    page.driver.switch_to.window(first)
    page.until("app.isTaken")
    assert "is open in another tab" in page.driver.find_element("id", "card-title").text
    assert [page.driver.find_element("id", f"card-{name}").is_displayed() for name in ("here", "open")] == [True, False]
    page.screenshot("taken")
    page.driver.find_element("id", "card-here").click()
    page.ready()
    page.stroke(OBJECT[0])
