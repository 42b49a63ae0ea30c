// The slice of a volume that is shown, its window of grey values, and their sliders.

import { $, choose, inputOf } from "./elements.js";

/** @import { App } from "./main.js" */

export class Slices {
  axis = -1; index = 0;          // -1: an image
  /** @type {number[] | null} */
  place = null;                  // z, y, x that slices across other axes go through, after a change of the axis
  level = 0.5; window = 1;       // of grey values, as shares of the range

  /** @param {App} app */
  constructor(app) { this.app = app; }

  forImage() { [this.axis, this.index, this.place] = [-1, 0, null]; }

  /** The other two axes: down and across the slice. */
  get sides() { return [0, 1, 2].filter((axis) => axis !== this.axis); }

  /**
   * The voxel z, y, x at a pixel of the slice.
   * @param {number} x
   * @param {number} y
   */
  voxelAt(x, y) {
    const voxel = [0, 0, 0], [down, across] = this.sides;
    [voxel[this.axis], voxel[down], voxel[across]] = [this.index, y, x];
    return voxel;
  }

  /** Show the middle slice across the first axis. */
  start() {
    const { info } = this.app;
    if (!info?.window) return;
    [this.axis, this.index, this.level, this.window, this.place] = [0, info.shape[0] >> 1, ...info.window, null];
  }

  /** @param {boolean} fit */
  async show(fit) {
    this.#sliders();
    const { info, image, mask, view, connection } = this.app;
    if (!info?.spacing) return;
    const { shape, spacing, address } = info, [down, across] = this.sides;
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

  /**
   * Go to the slice through the place at the pointer, or through the last one.
   * @param {number} axis
   */
  setAxis(axis) {
    const { info, pixel } = this.app;
    if (!info || this.axis < 0) return;
    this.place = pixel ? this.voxelAt(...pixel) : this.place ?? info.shape.map((size) => size >> 1);
    if (this.place[this.axis] !== this.index) this.place[this.axis] = this.index;
    this.#change(axis, this.place[axis]);
  }

  nextAxis() { this.setAxis((this.axis + 1) % 3); }

  /** @param {number} axis @param {number} index */
  #change(axis, index) {
    const fit = axis !== this.axis;
    this.app.cancel();
    [this.axis, this.index] = [axis, index];
    this.app.attempt(this.show(fit));
  }

  strokesChanged() { if (this.axis >= 0) $("marked-slices").replaceChildren(...this.#marked()); }

  /** @param {number} level @param {number} width   of the window, as shares of the range */
  setWindow(level, width) {
    [this.level, this.window] = [level, width];
    this.#sliders();
    this.app.image.setWindow(level, width);
    this.app.draw();
  }

  /** Ticks of the slider at slices with strokes. */
  #marked() {
    const marked = new Set([...this.app.strokes.all()].filter(({ axis }) => axis === this.axis).map(({ index }) => index));
    return [...marked].map((index) => new Option("", String(index)));
  }

  #sliders() {
    const { info } = this.app;
    if (!info?.range) return;
    const [low, high] = info.range, length = info.shape[this.axis];
    const shown = (/** @type {number} */ value) => String(Number(value.toPrecision(3)));
    inputOf("slice").max = String(length - 1);
    inputOf("slice").value = String(this.index);
    $("marked-slices").replaceChildren(...this.#marked());
    $("slice-value").textContent = `${this.index + 1}/${length}`;
    inputOf("level").value = String(1000 * this.level);
    inputOf("window").value = String(1000 * this.window);
    $("level-value").textContent = shown(low + this.level * (high - low));
    $("window-value").textContent = shown(this.window * (high - low));
    choose([0, 1, 2].map((axis) => $(`axis-${axis}`)), $(`axis-${this.axis}`));
  }
}
