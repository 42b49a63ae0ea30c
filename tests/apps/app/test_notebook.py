"""The widget of a session: its Python side without a kernel, and its page in a real browser on a fake model."""

import asyncio
import base64
import json
import time

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="needs the extra 'notebook'")

from apps.app.notebook import SessionWidget
from apps.session import Session
from tests.apps.app.page_messages import decode_mask, stroke_of
from tests.apps.session.scenes import disc_scene
from tests.chromium import NEEDS_CHROMIUM, start

SECONDS = 15


@pytest.fixture
def sent(monkeypatch):
    """What widgets send, instead of sending it."""
    messages = []
    monkeypatch.setattr(SessionWidget, "send", lambda _, content, buffers=(): messages.append((content, buffers)))
    yield messages
    SessionWidget.close_all()


async def until(condition):
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < end
        await asyncio.sleep(0.01)
    return found


class Page:
    """The page's side of the messages."""

    def __init__(self, widget, sent):
        self._widget, self._sent = widget, sent

    def say(self, content, *buffers):
        self._widget._handle_custom_msg(content, list(buffers))

    def do(self, do, **arguments):
        self.say({"kind": "text", "text": json.dumps({"do": do, "item": 0} | arguments)})

    def said(self, kind):
        texts = (json.loads(content["text"]) for content, _ in self._sent if content["kind"] == "text")
        return [text for text in texts if text["type"] == kind]

    async def open(self, axis=-1, index=0):
        self.say({"kind": "connect"})
        await until(lambda: self.said("hello"))
        self.do("open")
        await until(lambda: self.said("document"))
        self.do("slice", axis=axis, index=index)

    async def answer(self, path):
        self.say({"kind": "get", "number": 7, "path": path})
        answers = await until(lambda: [one for one in self._sent if one[0]["kind"] == "answer"])
        content, buffers = answers[0]
        self._sent[:] = [one for one in self._sent if one[0]["kind"] != "answer"]
        return content, buffers[0] if buffers else None

    async def settled(self, strokes):
        """Wait until the last state has this many strokes, and nothing is pending."""

        def is_settled():
            states = self.said("state")
            return states and len(states[-1]["order"]) == strokes and not states[-1]["pending"]

        await until(is_settled)

    def labels(self, shape):
        shown = np.zeros(shape, np.uint8)
        for content, buffers in self._sent:
            if content["kind"] == "bytes":
                decode_mask(buffers[0], shown)
        return shown


def test_strokes_change_the_session_and_are_shown(sent):
    image, _ = disc_scene()

    async def run():
        calls = []
        with Session(image, device="cpu", callback=lambda: calls.append(1)) as session:
            page = Page(SessionWidget(session), sent)
            await page.open()
            content, data = await page.answer("image/0")
            assert content["type"] == "image/png"
            assert data[:4] == b"\x89PNG"
            page.do(**stroke_of([(24, 20), (32, 20)], 1, 2.0, number=1))
            page.do(**stroke_of([(3, 3), (52, 3)], 0, 2.0, number=2))
            await page.settled(2)
            np.testing.assert_array_equal(page.labels(session.shape), session.labels)
            assert session.result().certified
            assert calls  # the callback of the session is called, too
            page.do("undo")
            await page.settled(1)
            assert len(session.records) == 1

    asyncio.run(run())


def test_a_volume_is_shown_in_slices(sent):
    volume = np.arange(4 * 6 * 8, dtype=np.int32).reshape(4, 6, 8)

    async def run():
        with Session(volume, (2.0, 1.0, 0.5), device="cpu") as session:
            page = Page(SessionWidget(session), sent)
            await page.open(0, 1)
            (about,) = page.said("document")
            assert (about["shape"], about["spacing"]) == ([4, 6, 8], [2.0, 1.0, 0.5])
            _, data = await page.answer("image/0/0/1")
            values = np.frombuffer(data, "<u2").reshape(6, 8)
            np.testing.assert_allclose(values / 65535 * 191, volume[1], atol=0.01)
            page.do(**stroke_of([(2, 2)], 1, 2.0, place=(0, 1)))
            await page.settled(1)
            assert session.records[0].slice == 1

    asyncio.run(run())


def test_errors_are_answers(sent):
    async def run():
        with Session(disc_scene()[0], device="cpu") as session:
            page = Page(SessionWidget(session), sent)
            await page.open()
            assert "error" in (await page.answer("image/0/0/0"))[0]
            assert "error" in (await page.answer("image/5"))[0]
            for message, expected in (("nonsense", "not JSON"), ('{"do": "save", "item": 0, "kinds": []}', "export")):
                page.say({"kind": "text", "text": message})
                await until(lambda expected=expected: any(expected in one["text"] for one in page.said("error")))

    asyncio.run(run())


HARNESS = """<!doctype html><title>model</title><body><script type="module">
import widget from "./notebook.js";
const values = VALUES, handlers = new Set();
globalThis.sent = [];
const encode = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
globalThis.tell = (content, buffers) => handlers.forEach((handler) => handler(content,
  buffers.map((text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer))));
const model = {
  get: (key) => values[key],
  on: (_, handler) => handlers.add(handler),
  off: (_, handler) => handlers.delete(handler),
  send: (content, _, buffers = []) => sent.push([content, buffers.map(encode)]),
};
globalThis.remove = widget.render({ model, el: document.body });
</script>"""


@pytest.mark.browser
@pytest.mark.slow
@NEEDS_CHROMIUM
def test_the_page_in_a_browser(sent, tmp_path):
    """Messages travel between the page in Chromium and the widget; strokes of the pointer find the object."""
    import functools
    import http.server
    import os
    import threading

    pytest.importorskip("selenium")
    from selenium.webdriver.common.action_chains import ActionChains

    image, truth = disc_scene(120, 160)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    driver = start(tmp_path / "profile")

    async def run():
        with Session(image, device="cpu") as session:
            widget = SessionWidget(session)
            values = {"files": widget.files, "height": widget.height}
            text = json.dumps(values).replace("</", "<\\/")
            (tmp_path / "notebook.js").write_text(widget._esm, "utf-8")
            (tmp_path / "page.html").write_text(HARNESS.replace("VALUES", text), "utf-8")
            driver.get(f"http://127.0.0.1:{server.server_port}/page.html")

            def carry():
                """Carry the messages that wait in both directions."""
                driver.switch_to.default_content()
                for content, buffers in driver.execute_script("return sent.splice(0)"):
                    widget._handle_custom_msg(content, [base64.b64decode(one) for one in buffers])
                while sent:
                    content, buffers = sent.pop(0)
                    packed = [base64.b64encode(bytes(one)).decode() for one in buffers]
                    driver.execute_script("tell(arguments[0], arguments[1])", content, packed)
                driver.switch_to.frame(0)

            def page(code):
                carry()
                return driver.execute_script(f"const app = globalThis.cutmatchApp; return {code}")

            def drag(points):
                places = page(
                    "(() => { const area = document.getElementById('top').getBoundingClientRect(); return "
                    f"{json.dumps(points)}.map(([x, y]) => [area.x + app.view.x + app.view.scale * x,"
                    " area.y + app.view.y + app.view.scale * y]); })()"
                )
                canvas = driver.find_element("id", "top")
                area = driver.execute_script("return arguments[0].getBoundingClientRect().toJSON()", canvas)
                middle = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2
                start, end = [(round(x - middle[0]), round(y - middle[1])) for x, y in places]
                chain = ActionChains(driver, duration=50).move_to_element_with_offset(canvas, *start).click_and_hold()
                chain.move_by_offset(end[0] - start[0], end[1] - start[1]).release().perform()

            await until(lambda: page("Boolean(app && app.ready && app.image.source)"))
            drag([[70, 60], [90, 60]])
            await until(lambda: page("app.state.order.length === 1 && !app.strokes.own.size"))
            driver.find_element("id", "tool-background").click()
            drag([[10, 10], [150, 10]])
            await until(lambda: page("app.state.order.length === 2 && app.state.pending === false"))
            await until(
                lambda: page("app.mask.labels.reduce((sum, label) => sum + (label > 0), 0)") == session.mask.sum()
            )
            assert (session.mask == truth).mean() > 0.98
            assert not driver.find_element("id", "save").is_displayed()
            driver.switch_to.default_content()
            if folder := os.environ.get("CUTMATCH_SCREENSHOTS"):
                driver.save_screenshot(f"{folder}/notebook.png")
            driver.execute_script("remove()")
            log = driver.get_log("browser")
            assert [entry for entry in log if "favicon" not in entry["message"]] == []

    try:
        asyncio.run(run())
    finally:
        driver.quit()
        server.shutdown()
        server.server_close()
