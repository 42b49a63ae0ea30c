"""The page of `cutmatch app` in a notebook, as a widget of a session: `Session.widget()`.

The images and tabs are those of the server.  The socket and the requests of the page are custom messages:

    page to widget   connect; text: a message of the socket; get: a request, with a number and a path
    widget to page   text, bytes; answer: to a request, with its number and type, or an error
"""

import asyncio
from argparse import Namespace
from collections.abc import Coroutine
from importlib.resources import files
from pathlib import Path

from apps.app.image_sources import Image, Source
from apps.app.live import Live, LiveImage
from apps.app.tabs import Tab
from apps.common.errors import InputError, reason_of
from apps.common.suggestions import install
from apps.session import Session
from apps.session.session_export import AXES, ORIGIN, UNIT
from apps.volumes.voxel_geometry import Geometry, Volume

try:
    import anywidget
    import traitlets
except ImportError:
    raise ImportError(f"the widget needs anywidget; {install('notebook', 'anywidget', 'traitlets')}") from None

PAGE = {path.name: path.read_text("utf-8") for path in (files("apps.app") / "static").iterdir()}


class SessionWidget(anywidget.AnyWidget):
    """A session as a widget: the page of `cutmatch app` in the output of a cell.

    Parameters
    ----------
    session : apps.Session
        The session.  Strokes on the page change it, and `session.mask` is what the page shows.
    height : int, default 640
        Height of the page in CSS pixels.

    Raises
    ------
    InputError
        Another object than a session.
    RuntimeError
        There is no event loop, which a notebook has.
    """

    _esm = PAGE["notebook.js"]
    files = traitlets.Dict({name: text for name, text in PAGE.items() if name != "notebook.js"}).tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)

    def __init__(self, session: Session, height: int = 640):
        if not isinstance(session, Session):
            raise InputError(f"session must be an apps.Session, got {type(session).__name__}")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError("a widget needs a notebook with its event loop; use cutmatch app") from None
        super().__init__(height=height)
        self._images = _SessionImages(session)
        self._images.start()
        self._tab: Tab | None = None
        self._tasks: set[asyncio.Task] = set()
        self._sending: asyncio.Task | None = None
        self.on_msg(self._receive)

    def close(self) -> None:
        """End the page and its threads; the session remains usable."""
        if hasattr(self, "_sending"):  # it also ends a widget whose constructor raised
            if self._sending is not None:
                self._sending.cancel()
            self._images.stop_edits()
        super().close()

    def _receive(self, _, content: dict, buffers: list) -> None:
        if content["kind"] == "connect":
            self._connect()
        elif content["kind"] == "get":
            self._start(self._answer(content["number"], content["path"]))
        elif self._tab is not None:
            self._start(self._pass(self._tab, content["text"]))

    def _connect(self) -> None:
        """Start again with a page; an earlier one, in another output, hears the same."""
        if self._tab is not None and self._sending is not None:
            self._sending.cancel()
            self._images.disconnect(self._tab)

        async def send_text(text: str) -> None:
            self.send({"kind": "text", "text": text})

        async def send_bytes(data: bytes) -> None:
            self.send({"kind": "bytes"}, [data])

        self._tab = Tab(send_text, send_bytes)
        self._images.connect(self._tab)
        self._sending = self._start(self._tab.run())

    async def _pass(self, tab: Tab, text: str) -> None:
        try:
            await self._images.receive(tab, text)
        except InputError as error:
            tab.send({"type": "error", "text": str(error)})

    async def _answer(self, number: int, path: str) -> None:
        try:
            _, item, *place = path.split("/")
            content, kind = (await self._images.opened(int(item))).image.content(*map(int, place))
            self.send({"kind": "answer", "number": number, "type": kind}, [content])
        except Exception as error:
            self.send({"kind": "answer", "number": number, "error": reason_of(error)})

    def _start(self, work: Coroutine) -> asyncio.Task:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself keeps no reference
        task.add_done_callback(self._tasks.discard)
        return task


class _SessionImages(Live):
    """The image of a session, which writes no files."""

    def __init__(self, session: Session):
        super().__init__([Source("session", Path("session"), state="new")], Namespace(out="", classes={}))
        self._session = session

    def load(self, source: Source) -> Image:
        session, volume = self._session, None
        if len(session.shape) == 3:
            volume = Volume(session.pixels, "npy", Geometry(session.spacing, UNIT, ORIGIN, AXES))
        return Image(session.pixels, volume)

    def open_session(self, source: Source, image: Image) -> Session:
        return self._session

    def save(self, image: LiveImage, action: dict) -> dict:
        raise InputError("the widget cannot save; call session.export(path, kind) or session.save(path)")

    def tell_state(self, image: LiveImage) -> None:
        """There are no files."""
