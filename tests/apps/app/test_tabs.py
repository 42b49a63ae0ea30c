"""What a tab is sent, in which order, while its page reads slowly."""

import asyncio
import json

import numpy as np

from apps.app.tabs import Snapshot, Tab


def kinds_sent(reselect_at):
    """Kinds of the messages of a tab that selects its image again while it is sent stroke number `reselect_at`."""
    strokes = {key: {"type": name} for key, name in enumerate(("first", "second", "third"))}
    snapshot = Snapshot(0, np.zeros((3, 4), np.int16), {"version": 1}, strokes)
    sent = []

    async def send_text(text):
        sent.append(json.loads(text)["type"])
        if len(sent) == 1 + reselect_at:
            select()

    async def send_bytes(data):
        sent.append("mask")

    def select():
        tab.select(0)
        tab.describe({"type": "document"}, snapshot)
        tab.show_slice(-1, 0)

    async def run():
        select()
        running = asyncio.create_task(tab.run())
        async with asyncio.timeout(60):
            while sent[-1:] != ["state"]:
                await asyncio.sleep(0.001)
        running.cancel()

    tab = Tab(send_text, send_bytes)
    asyncio.run(run())
    return sent


WHOLE = ["document", "first", "second", "third", "mask", "state"]


def test_strokes_labels_and_state_follow_the_description():
    assert kinds_sent(99) == WHOLE


def test_an_image_selected_again_is_sent_from_the_start():
    """Nothing of it follows before its description, and no stroke is left out."""
    assert kinds_sent(2) == ["document", "first", "second", *WHOLE]
