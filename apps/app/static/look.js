// Where the result is unsure: pixels shaded by what another label would cost, and the place to mark next.

import { $, circle, strokeTwice } from "./elements.js";
import { Mask } from "./mask.js";
import { closeDrawer } from "./drawers.js";
import { hint } from "./panel.js";

/** @import { App } from "./main.js" */
/** @import { Messages, Rgb } from "./socket.js" */

/** @type {[number, Rgb][]} */
const COLOURS = [[1, [120, 140, 235]], [2, [190, 90, 230]], [3, [255, 40, 170]]];   // from costly to cheap
const OPACITIES = [0, 90, 170, 255];
const RING = 16;   // CSS pixels

export class Look {
  isOn = false;
  mask = new Mask();
  /** @type {number[] | null} */
  place = null;      // y, x in an image, z, y, x in a volume
  #asked = "";       // what the last answer is for
  #isFirst = false;  // whether the slice of the place is to be shown

  /** @param {App} app */
  constructor(app) { this.app = app; }

  toggle() {
    this.isOn = !this.isOn;
    $("look").setAttribute("aria-pressed", String(this.isOn));
    this.#clear();
    this.#isFirst = true;
    if (this.isOn) closeDrawer();
    this.update();
  }

  #clear() {
    [this.#asked, this.place] = ["", null];
    this.mask.resize(this.app.mask.width, this.app.mask.height);
    this.app.draw();
    this.app.drawTop();
  }

  /** Ask again after a change of the labels, of the object or of the slice. */
  update() {
    const { state, label, item, slice: [axis, index] } = this.app, about = [state.version, item, label, axis, index].join();
    if (!this.isOn || about === this.#asked) return;
    if (this.#asked) this.#clear();
    if (state.pending || state.item !== item) return;
    this.#asked = about;
    this.app.connection.send({ do: "look", item, label, axis, index });
  }

  /** @param {Messages["look"]} message */
  show({ item, version, axis, index, place, runs }) {
    const { app } = this;
    if (!this.isOn || item !== app.item || version !== app.state.version || axis !== app.axis || index !== app.index) return;
    const { width, height } = this.app.mask, [lengths, values] = runs, isVolume = axis >= 0;
    this.mask.resize(width, height);
    this.mask.colours = new Map(COLOURS);
    this.mask.opacityOf = (label) => OPACITIES[label];
    this.mask.update({ x: 0, y: 0, width, height, lengths: Uint32Array.from(lengths), values: Uint16Array.from(values) });
    this.place = place;
    const where = place && isVolume && place[axis] !== index ? `Mark next: slice ${place[axis] + 1}` : "Where it is shaded, the result is unsure. Mark the middle of the ring next";
    hint(place ? where : "The result is unsure nowhere", "news");
    if (this.#isFirst && place && isVolume) this.app.slices.set(place[axis]);
    this.#isFirst = false;
    this.app.draw();
    this.app.drawTop();
  }

  /** @param {CanvasRenderingContext2D} context @param {number} ratio */
  drawRing(context, ratio) {
    const { view, slices: { axis, index, sides } } = this.app;
    if (!this.place || (axis >= 0 && this.place[axis] !== index)) return;
    const [row, column] = axis < 0 ? this.place : sides.map((side) => this.place?.[side] ?? 0);
    const [x, y] = view.toScreen(column + 0.5, row + 0.5);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    strokeTwice(context, circle(x, y, RING), [7, "#fff"], [4, "#d1007a"]);
  }
}
