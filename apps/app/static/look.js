// Where the result is unsure: pixels shaded by what another label would cost, and the place to mark next.

import { $, circle, strokeTwice } from "./elements.js";
import { Mask } from "./mask.js";
import { hint } from "./panel.js";

/** @import { App } from "./main.js" */
/** @import { Messages, Rgb } from "./socket.js" */

/** @type {Rgb} */
const COLOUR = [255, 40, 170];
const LEVELS = [1, 2, 3];   // from costly to cheap
const RING = 16;            // CSS pixels

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
    if (this.isOn) $("panel").hidePopover();
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
    const { width, height } = app.mask, [lengths, values] = runs;
    this.mask.resize(width, height);
    this.mask.colours = new Map(LEVELS.map((level) => [level, COLOUR]));
    this.mask.opacityOf = (level) => 255 * level / LEVELS.length;
    this.mask.update({ x: 0, y: 0, width, height, lengths: Uint32Array.from(lengths), values: Uint16Array.from(values) });
    this.place = place;
    const name = app.objects.nameOf(app.label), pixel = this.#pixel;
    const [kept, other] = pixel && app.mask.at(pixel) === app.label ? ["keep it", "take it away"] : ["add it", "keep it out"];
    hint(!place ? `${name} is unsure nowhere` : !pixel ? `Mark ${name} next in slice ${place[axis] + 1}`
      : `Is what the ring marks ${name}? A stroke of Object there will ${kept}, one of Background ${other}`, "news");
    if (this.#isFirst && place && axis >= 0) app.slices.set(place[axis]);
    if (pixel && !app.tools.busy && app.view.reveal(...pixel)) app.viewChanged();
    this.#isFirst = false;
    app.draw();
    app.drawTop();
  }

  /** The place in the image or slice that is shown. @returns {[number, number] | null} */
  get #pixel() {
    const { slices: { axis, index, sides } } = this.app, { place } = this;
    if (!place || (axis >= 0 && place[axis] !== index)) return null;
    const [row, column] = axis < 0 ? place : sides.map((side) => place[side]);
    return [column + 0.5, row + 0.5];
  }

  /** @param {CanvasRenderingContext2D} context @param {number} ratio */
  drawRing(context, ratio) {
    if (!this.#pixel) return;
    const [x, y] = this.app.view.toScreen(...this.#pixel);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    strokeTwice(context, circle(x, y, RING), [7, "#fff"], [4, "#d1007a"]);
  }
}
