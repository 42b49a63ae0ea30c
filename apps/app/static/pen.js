// Strokes on their way to the server: the one being drawn in parts, and copies for the next slice or image.

/** @import { App } from "./main.js" */
/** @import { Stroke } from "./socket.js" */
/** @import { DrawnStroke } from "./tools.js" */
/** @typedef {{ stroke: DrawnStroke, number: number, sent: number, time: number }} Drawing */

const PREVIEW_INTERVAL = 70;   // milliseconds between previews of a stroke that is being drawn

export class Pen {
  #number = Date.now() % 2 ** 31;
  /** @type {Drawing | null} */
  #drawing = null;
  /** @type {Stroke[]} */
  #copied = [];   // strokes for the image that is being opened

  /** @param {App} app */
  constructor(app) { this.app = app; }

  /**
   * Send the parts of a stroke that is being drawn as previews; each starts with the last point of the one before.
   * @param {DrawnStroke} stroke
   */
  changed(stroke) {
    const known = this.#drawing, now = performance.now(), count = stroke.points.length / 2;
    const drawing = known?.stroke === stroke ? known : { stroke, number: ++this.#number, sent: 0, time: 0 };
    this.#drawing = drawing;
    this.app.drawTop();
    if (now - drawing.time < PREVIEW_INTERVAL || count <= drawing.sent || stroke.filled || this.app.state.labels.length < 2) return;
    this.#send(drawing, false);
    [drawing.time, drawing.sent] = [now, count];
  }

  /** @param {Drawing} drawing @param {boolean} final */
  #send({ stroke, number, sent }, final) {
    const points = stroke.points.slice(2 * Math.max(0, sent - 1));
    this.app.connection.stroke(this.app.item, number, { ...stroke, points }, final);
  }

  done() {
    const drawing = this.#drawing;
    if (!drawing) return;
    performance.mark("cutmatch-stroke");
    this.#send(drawing, true);
    this.#drawing = null;
    this.app.strokes.own.set(drawing.number, drawing.stroke);
    this.app.setPending(true);
    this.app.strokesChanged();
  }

  cancelled() {
    if (this.#drawing?.sent) this.app.connection.send({ do: "cancel", item: this.app.item, number: this.#drawing.number });
    this.#drawing = null;
  }

  /** Draw the strokes of this slice again in the next one, or those of this image in the next image. */
  copyToNext() {
    const { app } = this, [axis, index] = app.slice;
    const isLast = axis < 0 ? app.item + 1 >= app.items.length : index + 1 >= (app.info?.shape[axis] ?? 0);
    if (!app.ready || isLast) return;
    const strokes = [...app.strokes.all()].filter((one) => one.axis === axis && one.index === index);
    if (axis < 0) {
      app.step(1);
      this.#copied = strokes;
    } else {
      app.slices.move(1);
      this.#copied = strokes.map((one) => ({ ...one, index: index + 1 }));
      this.drawCopies();
    }
  }

  drawCopies() {
    for (const stroke of this.#copied.splice(0)) this.app.connection.stroke(this.app.item, ++this.#number, stroke, true);
  }

  forgetCopies() { this.#copied = []; }
}
