// The image shown: a bitmap of a photograph, or a slice of a volume with its window of grey values.

export class ShownImage {
  #slices = new Map();   // address -> promise of Uint16Array; the slices seen last
  #wanted = "";

  constructor() { this.source = null; }

  async load(address) {
    this.#wanted = address;
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`cannot load the image (${answer.status})`);
    const bitmap = await createImageBitmap(await answer.blob(), { colorSpaceConversion: "none", premultiplyAlpha: "none" });
    if (this.#wanted !== address) return false;
    this.source?.close?.();
    this.source = bitmap;
    return true;
  }

  // Resolves to false if another slice has been requested since.
  async loadSlice(address, width, height) {
    this.#wanted = address;
    if (!this.#slices.has(address)) this.#slices.set(address, this.#fetch(address));
    while (this.#slices.size > 32) this.#slices.delete(this.#slices.keys().next().value);
    const values = await this.#slices.get(address);
    if (this.#wanted !== address) return false;
    this.values = values;
    this.size = [width, height];
    return true;
  }

  async #fetch(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`cannot load the slice (${answer.status})`);
    return new Uint16Array(await answer.arrayBuffer());
  }

  // Grey values of the slice: `level` in the middle of a window of `width`, both as shares of the volume's range.
  setWindow(level, width) {
    if (!this.values) return;
    const table = new Uint32Array(65536), low = level - width / 2;
    for (let value = 0; value < 65536; value++) {
      const grey = Math.max(0, Math.min(255, Math.round(255 * (value / 65535 - low) / width)));
      table[value] = (255 << 24 | grey << 16 | grey << 8 | grey) >>> 0;
    }
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = this.size;
    const context = canvas.getContext("2d"), shown = context.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(shown.data.buffer);
    for (let i = 0; i < pixels.length; i++) pixels[i] = table[this.values[i]];
    context.putImageData(shown, 0, 0);
    this.source = canvas;
  }
}
