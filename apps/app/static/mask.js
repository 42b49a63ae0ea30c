// The labels of the image shown, as a tint and as exact contours along the sides of pixels.

import { context2d } from "./elements.js";

/** @import { Rgb, Runs } from "./socket.js" */
/** @import { View } from "./view.js" */

const TILE = 256;

export class Mask {
  canvas = document.createElement("canvas");
  context = context2d(this.canvas);
  /** @type {Map<number, Rgb>} */
  colours = new Map();   // of the labels that are shown
  opacityOf = (/** @type {number} */ _label) => 255;
  width = 1; height = 1; columns = 1;
  labels = new Uint16Array(1);
  /** @type {Map<number, number>} */
  counts = new Map();    // pixels of each label
  /** @type {Map<number, [number, Path2D][]>} */
  tiles = new Map();     // labels and contours of a tile, made when it is shown

  /** @param {number} width @param {number} height */
  resize(width, height) {
    this.width = this.canvas.width = width;
    this.height = this.canvas.height = height;
    this.labels = new Uint16Array(width * height);
    this.counts = new Map([[0, width * height]]);
    this.columns = Math.ceil(width / TILE);
    this.tiles.clear();
  }

  /** The label at a place in the image. @param {[number, number]} at */
  at([x, y]) { return x >= 0 && x < this.width && y >= 0 && y < this.height ? this.labels[Math.floor(y) * this.width + Math.floor(x)] : 0; }

  get hasObjects() { return [...this.counts].some(([label, count]) => label && count); }

  /** @param {Map<number, Rgb>} colours   by label */
  setColours(colours) {
    this.colours = colours;
    this.#tint(0, 0, this.width, this.height);
  }

  /**
   * Set the labels of a rectangle, row by row, as runs.
   * @param {Runs} runs
   */
  update({ x, y, width, height, lengths, values }) {
    if (!width || !height) return;
    const gained = new Int32Array(65536);
    let column = 0, row = 0;
    for (let run = 0; run < lengths.length; run++) {
      let left = lengths[run];
      while (left) {
        const here = Math.min(left, width - column), at = (y + row) * this.width + x + column;
        for (let i = at; i < at + here; i++) gained[this.labels[i]]--;
        gained[values[run]] += here;
        this.labels.fill(values[run], at, at + here);
        left -= here;
        column += here;
        if (column === width) { column = 0; row++; }
      }
    }
    gained.forEach((count, label) => { if (count) this.counts.set(label, (this.counts.get(label) ?? 0) + count); });
    this.#tint(x, y, width, height);
    // The pixels to the right and below have sides in common with the changed ones.
    for (let ty = y / TILE | 0; ty <= (y + height) / TILE; ty++)
      for (let tx = x / TILE | 0; tx <= (x + width) / TILE; tx++) this.tiles.delete(ty * this.columns + tx);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  #tint(x, y, width, height) {
    const image = this.context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
    const packed = new Map([...this.colours].map(([label, [r, g, b]]) => [label, (this.opacityOf(label) << 24 | b << 16 | g << 8 | r) >>> 0]));
    let known = 0, colour = 0, at = 0;
    for (let row = 0; row < height; row++) {
      const start = (y + row) * this.width + x;
      for (let i = start; i < start + width; i++, at++) {
        const label = this.labels[i];
        if (label !== known) { known = label; colour = packed.get(label) ?? 0; }
        pixels[at] = colour;
      }
    }
    this.context.putImageData(image, x, y);
  }

  /**
   * Lines between pixels of different labels, in the tile at (tx, ty); each has the colour of the greater label.
   * @param {number} tx
   * @param {number} ty
   */
  #contours(tx, ty) {
    /** @type {Map<number, Path2D>} */
    const paths = new Map();
    const { labels, width: w } = this;
    const x0 = tx * TILE, y0 = ty * TILE, x1 = Math.min(w, x0 + TILE), y1 = Math.min(this.height, y0 + TILE);
    const path = (/** @type {number} */ label) => {
      const known = paths.get(label) ?? new Path2D();
      paths.set(label, known);
      return known;
    };
    // Along the rows, sides between a pixel and the one above; along the columns, between it and the one to the left.
    for (const [u0, u1, v0, v1, du, dv] of [[x0, x1, y0, y1, 1, w], [y0, y1, x0, x1, w, 1]]) {
      for (let v = Math.max(1, v0); v < v1; v++) {
        const side = (/** @type {number} */ u) => {
          const a = labels[u * du + v * dv], b = labels[u * du + (v - 1) * dv];
          return a === b ? 0 : Math.max(a, b);
        };
        for (let u = u0; u < u1; ) {
          const label = side(u), start = u++;
          if (!label) continue;
          while (u < u1 && side(u) === label) u++;
          for (const [end, draw] of /** @type {[number, "moveTo" | "lineTo"][]} */ ([[start, "moveTo"], [u, "lineTo"]])) {
            if (du === 1) path(label)[draw](end, v); else path(label)[draw](v, end);
          }
        }
      }
    }
    return [...paths];
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {number} ratio
   * @param {(label: number) => string} colourOf   a contour
   */
  drawContours(context, view, ratio, colourOf) {
    const [left, top] = view.toImage(0, 0), [right, bottom] = view.toImage(view.screenWidth, view.screenHeight);
    const last = (/** @type {number} */ v, /** @type {number} */ n) => Math.min(Math.ceil(n / TILE) - 1, Math.floor(v / TILE));
    /** @type {[number, Path2D][]} */
    const shown = [];
    for (let ty = Math.max(0, Math.floor(top / TILE)); ty <= last(bottom, this.height); ty++) {
      for (let tx = Math.max(0, Math.floor(left / TILE)); tx <= last(right, this.width); tx++) {
        const key = ty * this.columns + tx;
        const contours = this.tiles.get(key) ?? this.#contours(tx, ty);
        this.tiles.set(key, contours);
        shown.push(...contours.filter(([label]) => this.colours.has(label)));
      }
    }
    view.apply(context, ratio);
    context.lineCap = "square";
    for (const [, path] of shown) this.#line(context, view, path, 3.5, "rgb(0 0 0 / 0.75)");
    for (const [label, path] of shown) this.#line(context, view, path, 1.75, colourOf(label));
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {Path2D} path
   * @param {number} width
   * @param {string} colour
   */
  #line(context, view, path, width, colour) {
    context.lineWidth = width / (view.scale * Math.min(1, view.aspect));
    context.strokeStyle = colour;
    context.stroke(path);
  }
}
