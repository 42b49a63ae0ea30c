// The slice of a volume that is shown, its window of grey values, and their sliders.

import { $, inputOf } from "./elements.js";
import { choose } from "./keys.js";

/** @import { App } from "./main.js" */

export class Slices {
  axis = -1; index = 0;          // -1: an image
  level = 0.5; window = 1;       // of grey values, as shares of the range

  /** @param {App} app */
  constructor(app) { this.app = app; }

  forImage() { [this.axis, this.index] = [-1, 0]; }

  /** Show the middle slice across the first axis. */
  start() {
    const { info } = this.app;
    if (!info?.window) return;
    [this.axis, this.index, this.level, this.window] = [0, info.shape[0] >> 1, ...info.window];
  }

  /** @param {boolean} fit */
  async show(fit) {
    this.#sliders();
    const { info, image, mask, view, connection } = this.app;
    if (!info?.spacing) return;
    const { shape, spacing, address } = info, [down, across] = [0, 1, 2].filter((axis) => axis !== this.axis);
    const [height, width] = [shape[down], shape[across]], { axis, index } = this;
    if (!await image.loadSlice(`${address}/${axis}/${index}`, width, height)) return;
    mask.resize(width, height);
    image.setWindow(this.level, this.window);
    if (fit) view.setImage(width, height, spacing[down] / spacing[across]);
    connection.send({ do: "slice", item: info.item, axis, index });
    this.app.setReady();
  }

  /** @param {number} by */
  move(by) { if (this.axis >= 0) this.set(this.index + by); }

  /** @param {number} index */
  set(index) {
    const { info } = this.app;
    if (!info || this.axis < 0) return;
    this.#change(this.axis, Math.max(0, Math.min(info.shape[this.axis] - 1, index)));
  }

  /** @param {number} axis */
  setAxis(axis) {
    const { info } = this.app;
    if (info && this.axis >= 0) this.#change(axis, info.shape[axis] >> 1);
  }

  nextAxis() { this.setAxis((this.axis + 1) % 3); }

  /** @param {number} axis @param {number} index */
  #change(axis, index) {
    const fit = axis !== this.axis;
    this.app.cancel();
    this.app.tools.forgetLine();
    [this.axis, this.index] = [axis, index];
    this.app.attempt(this.show(fit));
  }

  /** @param {number} level @param {number} width   of the window, as shares of the range */
  setWindow(level, width) {
    [this.level, this.window] = [level, width];
    this.#sliders();
    this.app.image.setWindow(level, width);
    this.app.draw();
  }

  #sliders() {
    const { info } = this.app;
    if (!info?.range) return;
    const [low, high] = info.range, length = info.shape[this.axis];
    const shown = (/** @type {number} */ value) => String(Number(value.toPrecision(3)));
    inputOf("slice").max = String(length - 1);
    inputOf("slice").value = String(this.index);
    $("slice-value").textContent = `${this.index + 1}/${length}`;
    inputOf("level").value = String(1000 * this.level);
    inputOf("window").value = String(1000 * this.window);
    $("level-value").textContent = shown(low + this.level * (high - low));
    $("window-value").textContent = shown(this.window * (high - low));
    choose([0, 1, 2].map((axis) => $(`axis-${axis}`)), $(`axis-${this.axis}`));
  }
}
