// The image shown: a bitmap of a photograph, or a slice of a volume with its window of grey values.

import { context2d } from "./elements.js";

export class ShownImage {
  /** @type {ImageBitmap | HTMLCanvasElement | null} */
  source = null;
  /** @type {Map<string, Promise<Uint16Array>>} */
  #slices = new Map();   // by address, those seen last
  #wanted = "";
  /** @type {Uint16Array | null} */
  #values = null;        // of the slice
  #size = [1, 1];

  /** @param {string} address */
  async load(address) {
    this.#wanted = address;
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`cannot load the image (${answer.status})`);
    const bitmap = await createImageBitmap(await answer.blob(), { colorSpaceConversion: "none", premultiplyAlpha: "none" });
    if (this.#wanted !== address) return false;
    if (this.source instanceof ImageBitmap) this.source.close();
    this.source = bitmap;
    return true;
  }

  /**
   * Resolves to false if another slice has been requested since.
   * @param {string} address
   * @param {number} width
   * @param {number} height
   */
  async loadSlice(address, width, height) {
    this.#wanted = address;
    const loading = this.#slices.get(address) ?? this.#fetch(address);
    this.#slices.set(address, loading);
    for (const oldest of this.#slices.keys()) if (this.#slices.size > 32) this.#slices.delete(oldest);
    const values = await loading;
    if (this.#wanted !== address) return false;
    this.#values = values;
    this.#size = [width, height];
    return true;
  }

  /** @param {string} address */
  async #fetch(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`cannot load the slice (${answer.status})`);
    return new Uint16Array(await answer.arrayBuffer());
  }

  /**
   * Show grey values of the slice: `level` in the middle of a window of `width`, both as shares of the volume's range.
   * @param {number} level
   * @param {number} width
   */
  setWindow(level, width) {
    const values = this.#values;
    if (!values) return;
    const table = new Uint32Array(65536), low = level - width / 2;
    for (let value = 0; value < 65536; value++) {
      const grey = Math.max(0, Math.min(255, Math.round(255 * (value / 65535 - low) / width)));
      table[value] = (255 << 24 | grey << 16 | grey << 8 | grey) >>> 0;
    }
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = this.#size;
    const context = context2d(canvas), shown = context.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(shown.data.buffer);
    for (let i = 0; i < pixels.length; i++) pixels[i] = table[values[i]];
    context.putImageData(shown, 0, 0);
    this.source = canvas;
  }
}
