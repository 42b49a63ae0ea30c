// The stroke that is being drawn, on its way to the server in parts.

import { inputOf } from "./elements.js";

/** @import { App } from "./main.js" */
/** @import { DrawnStroke } from "./tools.js" */
/** @typedef {{ stroke: DrawnStroke, number: number, sent: number, time: number }} Drawing */

const PREVIEW_INTERVAL = 70;   // milliseconds between previews of a stroke that is being drawn
const TURN = 8;                // CSS pixels to the side that change the tolerance by one

export class Pen {
  #number = Date.now() % 2 ** 31;
  /** @type {Drawing | null} */
  #drawing = null;
  #turned = 0;   // CSS pixels since the tolerance changed

  /** @param {App} app */
  constructor(app) { this.app = app; }

  /**
   * Send the parts of a stroke that is being drawn as previews; each starts with the last point of the one before.
   * @param {DrawnStroke} stroke
   * @param {boolean} again   whether it is answered in another way, though it has no further points
   */
  changed(stroke, again = false) {
    const known = this.#drawing, now = performance.now(), count = stroke.points.length / 2;
    const drawing = known?.stroke === stroke ? known : { stroke, number: ++this.#number, sent: 0, time: 0 };
    this.#drawing = drawing;
    this.app.drawTop();
    if (now - drawing.time < PREVIEW_INTERVAL || (count <= drawing.sent && !again) || (!stroke.edit && this.app.state.labels.length < 2)) return;
    this.#send(drawing, false);
    [drawing.time, drawing.sent] = [now, count];
  }

  /** Change the tolerance of what is being selected. @param {number} by   CSS pixels */
  turn(by) {
    const slider = inputOf("tolerance"), steps = Math.trunc((this.#turned += by) / TURN);
    this.#turned -= TURN * steps;
    slider.value = String(Number(slider.value) + steps);
    slider.dispatchEvent(new Event("input"));
    if (this.#drawing) this.changed(this.#drawing.stroke, true);
  }

  /** @param {Drawing} drawing @param {boolean} final */
  #send({ stroke, number, sent }, final) {
    if (stroke.edit === "select") {
      const { points: flat, label, radius, erase: taken } = stroke, tolerance = Number(inputOf("tolerance").value);
      const points = Array.from({ length: flat.length / 2 }, (_, i) => flat.slice(2 * i, 2 * i + 2));
      this.app.connection.send({ do: "select", item: this.app.item, points, radius, label, tolerance, taken, final });
      return;
    }
    const points = stroke.points.slice(2 * Math.max(0, sent - 1));
    this.app.connection.stroke(this.app.item, number, { ...stroke, points }, final);
  }

  done() {
    const drawing = this.#drawing;
    if (!drawing) return;
    performance.mark("cutmatch-stroke");
    this.#send(drawing, true);
    this.#drawing = null;
    if (drawing.stroke.edit) return;   // the pixels themselves are the answer
    this.app.strokes.own.set(drawing.number, drawing.stroke);
    this.app.setPending(true);
    this.app.strokesChanged();
  }

  cancelled() {
    if (this.#drawing?.stroke.edit === "select") this.app.edit("drop_preview");
    else if (this.#drawing?.sent) this.app.connection.send({ do: "cancel", item: this.app.item, number: this.#drawing.number });
    this.#drawing = null;
  }
}
