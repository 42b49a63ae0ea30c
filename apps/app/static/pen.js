// The stroke that is being drawn, on its way to the server in parts.

import { inputOf } from "./elements.js";
import { hint, percent } from "./panel.js";

/** @import { App } from "./main.js" */
/** @import { MaskUpdate, Stroke } from "./socket.js" */
/** @typedef {{ stroke: Stroke, number: number, sent: number, time: number }} Drawing */

const PREVIEW_INTERVAL = 70;   // milliseconds between previews of a stroke that is being drawn
const TURN = 8;                // CSS pixels to the side that change the tolerance by one
const FAR = 0.25, FAR_AT_BORDER = 0.05;   // shares of the image above which the page says what is selected
const MOST = 0.5;              // share of the object above which the page says what is taken away

/** Whether a stroke marks pixels, or erases marks, rather than setting pixels. @param {Stroke} stroke */
const isMark = (stroke) => stroke.do === "stroke" || stroke.do === "erase";

export class Pen {
  #number = Math.floor(Math.random() * 2 ** 50);   // of strokes, which differ from those of other pages
  /** @type {Drawing | null} */
  #drawing = null;
  #turned = 0;   // CSS pixels since the tolerance changed
  #before = 0;      // pixels of the object before what is, or was last, watched
  /** @type {"" | "select" | "taken" | "wider"} */
  #watched = "";    // of which the page says how much changes

  /** @param {App} app */
  constructor(app) { this.app = app; }

  /**
   * Send the parts of a stroke that is being drawn as previews; each starts with the last point of the one before.
   * @param {Stroke} stroke
   * @param {boolean} again   whether it is answered in another way, though it has no further points
   */
  changed(stroke, again = false) {
    const known = this.#drawing, now = performance.now(), count = stroke.points.length;
    const drawing = known?.stroke === stroke ? known : { stroke, number: ++this.#number, sent: 0, time: 0 };
    if (drawing !== known) this.watch(stroke.do !== "select" ? "" : stroke.taken ? "taken" : "select");
    this.#drawing = drawing;
    this.app.drawTop();
    if (now - drawing.time < PREVIEW_INTERVAL || (count <= drawing.sent && !again) || (isMark(stroke) && this.app.state.labels.length < 2)) return;
    this.#send(drawing, false);
    [drawing.time, drawing.sent] = [now, count];
  }

  get #count() { return this.app.mask.counts.get(this.app.label) ?? 0; }

  /** @param {"" | "select" | "taken" | "wider"} what */
  watch(what) { [this.#watched, this.#before] = [what, this.#count]; }

  /** Say that what is selected goes far, as through a weak edge. @param {MaskUpdate} update */
  maskChanged({ x, y, width, height }) {
    if (this.#watched === "wider") this.sayWider();
    if (this.#watched !== "select" && this.#watched !== "taken") return;
    const { mask } = this.app, all = mask.width * mask.height, isTaken = this.#watched === "taken";
    const changed = Math.abs(this.#count - this.#before), isAtBorder = !isTaken && (!x || !y || x + width === mask.width || y + height === mask.height);
    if (changed <= (isTaken ? MOST * this.#before : (isAtBorder ? FAR_AT_BORDER : FAR) * all)) return;
    const share = `${percent(changed, all)} of the image${isAtBorder ? ", up to its border" : ""}`;
    hint(`This ${isTaken ? "takes away" : "selects"} ${share}. Too much? Undo, and lower Tolerance`, "news");
  }

  /** Say what "wider" has changed. */
  sayWider() {
    const { mask, objects, label } = this.app, name = objects.nameOf(label);
    const [before, now] = [this.#before, this.#count].map((count) => percent(count, mask.width * mask.height));
    hint(before === now ? `${name} stays at ${now}` : `${name}: ${before} \u2192 ${now}`, "news");
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
    const { do: what, radius, label, taken, axis, index } = stroke, isSelection = what === "select";
    const points = isSelection ? stroke.points : stroke.points.slice(Math.max(0, sent - 1));
    const place = axis < 0 ? { axis: null, slice: null } : { axis, slice: index };
    this.app.connection.send({
      do: what, item: this.app.item, number, points, radius, final, ...what !== "erase" && { label }, ...isMark(stroke) ? place : { taken },
      ...isSelection && { tolerance: Number(inputOf("tolerance").value) },
    });
  }

  done() {
    const drawing = this.#drawing;
    if (!drawing) return;
    performance.mark("cutmatch-stroke");
    this.#send(drawing, true);
    this.#drawing = null;
    if (!isMark(drawing.stroke)) return;   // the pixels themselves are the answer
    if (drawing.stroke.do === "stroke" && drawing.stroke.label && this.#leavesBox(drawing.stroke)) hint("The object stays inside its box: drag a larger box (R) around it", "news");
    this.app.strokes.own.set(drawing.number, drawing.stroke);
    this.app.setPending(true);
    this.app.strokesChanged();
  }

  /** Whether a part of a stroke is outside the object's box. @param {Stroke} stroke */
  #leavesBox({ points }) {
    const [x0, y0, x1, y1] = this.app.shownBox ?? [0, 0, 0, 0];
    return this.app.box !== null && points.some(([x, y]) => x < x0 || x >= x1 || y < y0 || y >= y1);
  }

  cancelled() {
    if (this.#drawing?.stroke.do === "select") this.app.edit("drop_preview");
    else if (this.#drawing?.sent) this.app.connection.send({ do: "cancel", item: this.app.item });
    this.#drawing = null;
  }
}
