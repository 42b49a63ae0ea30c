"""The page of `cutmatch app` in chromium, driven by selenium; for test modules of the page.

CUTMATCH_SCREENSHOTS=FOLDER keeps screenshots.
"""

import base64
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.chromium import start

selenium = pytest.importorskip("selenium.webdriver", reason="needs the extra 'test'")
pytest.importorskip("uvicorn", reason="needs the extra 'app'")

TIMEOUT = 300  # seconds; kernels may be compiled first
OBJECT = (
    [(220, 50), (230, 130), (225, 185), (290, 240), (240, 268), (150, 225), (135, 190)],
    [(245, 285), (300, 360), (430, 375), (480, 480), (380, 490)],
    [(85, 280), (35, 340), (40, 380), (120, 420), (165, 485), (260, 490), (256, 350), (250, 310)],
    [(385, 360), (430, 362), (468, 392), (492, 440), (504, 500)],
    [(182, 495), (135, 395), (190, 390), (215, 435)],
)
BACKGROUND = (
    [(60, 40), (70, 190), (12, 310), (8, 430)],
    [(320, 40), (310, 130), (330, 200), (450, 310)],
    [(400, 325), (465, 340), (503, 385), (508, 440)],
)
# Middles of the cells in the scene of the fixture `cells`.
COUNT = 12
PLACES = [(60 + 100 * (k % 4), 60 + 100 * (k // 4)) for k in range(COUNT)]


class Browser:
    """A browser with the page of a server."""

    def __init__(self, folder: Path, *arguments, ready: bool = True):
        self._folder = folder
        self._is_lost = False
        self._start(*arguments)
        self.driver = start(folder / "profile", "--force-dark-mode")
        self.driver.get(self.address)
        if ready:
            self.ready()

    def _start(self, *arguments):
        command = [sys.executable, "-m", "apps.cli", "app", *map(str, arguments), "--no-browser", "--device", "cpu"]
        self._server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=self._folder)
        self.address = self._server.stdout.readline().split()[-1]

    def stop(self):
        self._is_lost = True
        self._server.terminate()
        self._server.wait(TIMEOUT)
        self._server.stdout.close()

    def close(self):
        """End it; return the errors of the page, but none of one whose server was stopped."""
        errors = [] if self._is_lost else self.driver.get_log("browser")
        self.driver.quit()
        self.stop()
        return [one for one in errors if one["level"] == "SEVERE"]

    def js(self, code, *arguments):
        return self.driver.execute_script(f"const app = cutmatchApp; return {code}", *arguments)

    def until(self, code, *arguments):
        end = time.monotonic() + TIMEOUT
        while not self.js(code, *arguments):
            assert time.monotonic() < end, f"not within {TIMEOUT} s: {code}"
            time.sleep(0.05)

    def hinted(self, text):
        """Wait until the page's hint contains a text; while kernels are compiled, it says so."""
        self.until("document.getElementById('hint').textContent.includes(arguments[0])", text)

    def ready(self, item=0):
        self.until("globalThis.cutmatchApp && app.ready && app.state.item === arguments[0]", item)

    def settled(self):
        self.until("!app.strokes.own.size && app.state.pending === false")

    def screen(self, points):
        code = "arguments[0].map(([x, y]) => [app.view.x + app.view.scale * x, app.view.y + app.view.scale * y])"
        area = self.driver.find_element("id", "top").rect
        return [(round(area["x"] + x), round(area["y"] + y)) for x, y in self.js(code, points)]

    def drag(self, points, button=0):
        """Press, move and release at points of the image."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        builder = ActionBuilder(self.driver, duration=20)
        first, *others = self.screen(points)
        builder.pointer_action.move_to_location(*first)
        builder.pointer_action.pointer_down(button)
        for place in others:
            builder.pointer_action.move_to_location(*place)
        builder.pointer_action.pointer_up(button)
        builder.perform()

    def stroke(self, points, button=0):
        count = self.js("app.state.order.length")
        self.drag(points, button)
        self.until("app.state.order.length > arguments[0] && !app.strokes.own.size", count)

    def objects(self, count):
        """Mark the background and the first cells, each with the next free label."""
        self.stroke([(10, 10), (410, 10), (410, 310), (10, 310)], 2)
        for x, y in PLACES[:count]:
            self.keys("o")
            self.stroke([(x - 8, y), (x + 8, y)])
        self.settled()

    def telephone(self):
        metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        self.driver.refresh()
        self.ready()

    def fingers(self, kind, *places):
        """One event of fingers at places of the screen."""
        points = [dict(zip("xy", place, strict=True)) | {"id": k} for k, place in enumerate(places)]
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def tap(self, *places):
        """Put a finger on the screen, move it over places, and lift it."""
        for kind, place in zip(("touchStart", *["touchMove"] * (len(places) - 1)), places, strict=True):
            self.fingers(kind, place)
        self.fingers("touchEnd")

    def astronaut(self):
        for points in OBJECT:
            self.stroke(points)
        for points in BACKGROUND:
            self.stroke(points, 2)
        self.settled()

    def keys(self, *keys, control=False, shift=False):
        actions = selenium.ActionChains(self.driver)
        held = [key for key, down in (("\ue009", control), ("\ue008", shift)) if down]
        for key in held:
            actions.key_down(key)
        for key in keys:
            actions.send_keys(key)
        for key in held:
            actions.key_up(key)
        actions.perform()

    def labels(self):
        code = """(() => { const bytes = new Uint8Array(app.mask.labels.buffer); let text = '';
            for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
            return [app.mask.width, app.mask.height, btoa(text)]; })()"""
        width, height, text = self.js(code)
        return np.frombuffer(base64.b64decode(text), "<u2").reshape(height, width)

    def screenshot(self, name):
        if folder := os.environ.get("CUTMATCH_SCREENSHOTS"):
            time.sleep(0.5)
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))

    def click(self, name):
        self.driver.find_element("id", name).click()


def row(page, label, part):
    return page.driver.find_element("css selector", f'#objects [data-label="{label}"] .{part}')
