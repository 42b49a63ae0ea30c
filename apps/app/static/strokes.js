// The strokes of the image: those that the server knows, in its order, and those that it has not confirmed yet.

/** @import { Stroke } from "./socket.js" */
/** @import { View } from "./view.js" */
/** @typedef {(label: number) => string} Colours   the colour of a label */

const OUTLINE = 3;   // CSS pixels

export class Strokes {
  /** @type {Map<number, Stroke>} */
  known = new Map();   // by the server's key
  /** @type {number[]} */
  order = [];          // keys
  /** @type {Map<number, Stroke>} */
  own = new Map();     // by the page's own number

  reset() {
    this.known.clear();
    this.order = [];
    this.own.clear();
  }

  *all() {
    for (const key of this.order) {
      const stroke = this.known.get(Math.abs(key));
      if (stroke) yield key < 0 ? /** @type {const} */ ({ ...stroke, do: "erase" }) : stroke;
    }
    yield* this.own.values();
  }

  /**
   * Draw the strokes of a slice (axis -1: an image) on a context of its own, because erasing removes pixels.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {number} ratio
   * @param {Colours} colourOf
   * @param {number} axis
   * @param {number} index
   * @param {Set<number>} hidden   labels
   */
  draw(context, view, ratio, colourOf, axis, index, hidden) {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    const shown = [...this.all()].filter((one) => one.axis === axis && one.index === index && (one.do === "erase" || !hidden.has(one.label)));
    for (const stroke of shown) drawStroke(context, view, ratio, stroke, colourOf);
    for (const stroke of shown) {   // outlines remain, so that what they surround can be seen
      const radius = stroke.radius - OUTLINE / view.scale;
      if (stroke.do !== "erase" && radius > 0) drawStroke(context, view, ratio, { ...stroke, radius, do: "erase" }, colourOf);
    }
    context.globalCompositeOperation = "source-over";
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {number} ratio
 * @param {Pick<Stroke, "points" | "radius" | "label" | "do">} stroke
 * @param {Colours} colourOf
 */
export function drawStroke(context, view, ratio, { points, radius, label, do: what }, colourOf) {
  const { aspect } = view, erase = what === "erase", [[x0, y0], ...others] = points;
  view.apply(context, ratio, 1);   // y is multiplied by the aspect
  context.globalCompositeOperation = erase ? "destination-out" : "source-over";
  context.strokeStyle = context.fillStyle = erase ? "#000" : colourOf(label);
  // Erasing also removes the smooth edge of what is below.
  context.lineWidth = Math.max(1, 2 * radius) + (erase ? 2 / view.scale : 0);
  context.lineCap = context.lineJoin = "round";
  context.beginPath();
  context.moveTo(x0, y0 * aspect);
  context.lineTo(x0 + 0.001, y0 * aspect);   // a single point is drawn, too
  for (const [x, y] of others) context.lineTo(x, y * aspect);
  context.stroke();
}
