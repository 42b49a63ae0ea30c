// Pointer, touch and pen: strokes, boxes, moving and zooming.  `host` is told what was drawn and answers what is chosen.

const PEN_ERASER = 32;         // bit of PointerEvent.buttons
const MIN_STEP = 0.7;          // screen pixels between two points of a stroke
const MAX_POINTS = 20_000;
const WIDE = 1.25;             // of the brush: Erase, which leaves no crumbs along the sides of a stroke

/** @import { App } from "./main.js" */
/** @import { Point, Stroke } from "./socket.js" */
/** @import { View } from "./view.js" */
/** @typedef {[number, number, number, number]} Rectangle   x0, y0, x1, y1 */

export class Tools {
  /** @type {Map<number, Point>} */
  #pointers = new Map();       // those on the canvas, by id, on the screen
  /** @type {"stroke" | "box" | "pan" | "pinch" | null} */
  #action = null;
  /** @type {Point | null} */
  pointer = null;              // on the screen
  /** @type {Stroke | null} */
  stroke = null;
  /** @type {Rectangle | null} */
  box = null;
  space = false;               // whether the key is held
  /** @type {Point | null} */
  cross = null;                // the cross-hair that arrow keys move, in the image

  /** @param {HTMLCanvasElement} canvas @param {View} view @param {App} host */
  constructor(canvas, view, host) {
    this.canvas = canvas;
    this.view = view;
    this.host = host;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => { this.cancel(); this.#forget(event); });
    canvas.addEventListener("pointerleave", () => { if (!this.cross) this.pointer = null; host.drawTop(); });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  get busy() { return this.#action !== null; }

  /** @param {MouseEvent} event @returns {Point} */
  #place(event) {
    const area = this.canvas.getBoundingClientRect();
    return [event.clientX - area.left, event.clientY - area.top];
  }

/** @param {PointerEvent} event */
  #down(event) {
    this.canvas.focus({ preventScroll: true });
    if (!this.host.ready || document.querySelector(":popover-open")) return;   // which this press closes
    const place = this.#place(event);
    this.cross = null;
    this.#pointers.set(event.pointerId, place);
    try { this.canvas.setPointerCapture(event.pointerId); } catch { /* the pointer was lifted meanwhile */ }
    if (event.pointerType === "touch" && this.#pointers.size === 2) {
      this.cancel();
      this.#action = "pinch";
    } else if (this.#pointers.size > 1 || this.#action) {
      return;
    } else if (event.button === 1 || this.space) {
      this.#action = "pan";
    } else {
      const erase = Boolean(event.buttons & PEN_ERASER) || this.host.tool === "erase";
      const background = !erase && (event.button === 2 || event.altKey || this.host.tool === "background");
      this.#press(this.view.toImage(...place), background, erase);
    }
    event.preventDefault();
    this.#showCursor();
    this.host.drawTop();
  }

  /**
   * @param {Point} at           in the image
   * @param {boolean} background
   * @param {boolean} erase
   */
  #press(at, background, erase) {
    const { tool, radius, label, slice: [axis, index], isTaking, mask, objects } = this.host;
    const what = erase ? "erase" : tool === "select" || tool === "solid" || tool === "push" ? tool : "stroke", isMark = what === "stroke";
    const isInside = what !== "push" && (tool !== "box" || background);   // where a locked object lets nothing change
    if (!erase && ((!(isMark && background) && objects.refuses(label)) || (isInside && objects.refuses(mask.at(at))))) {
      this.#action = null;   // the press has no further effect
    } else if (tool === "box" && !background && !erase) {
      this.#action = "box";
      this.box = [...at, ...at];
    } else {
      const taken = !isMark && (background || isTaking || (what === "push" && mask.at(at) !== label));
      this.#action = "stroke";
      this.stroke = { do: what, points: [], radius: erase ? WIDE * radius : radius, label: isMark && background ? 0 : label, taken, axis, index };
      this.#extend(this.stroke, at, true);
      this.host.pen.changed(this.stroke);
    }
  }

  /** @param {Stroke} stroke @param {Point} at @param {boolean} always */
  #extend({ points }, [x, y], always = false) {
    const [u, v] = points.at(-1) ?? [], isFar = u === undefined || v === undefined || Math.hypot(x - u, y - v) >= MIN_STEP / this.view.scale;
    if (points.length < MAX_POINTS && (always || isFar)) points.push([Math.round(100 * x) / 100, Math.round(100 * y) / 100]);
  }

  /** What is being drawn follows. @param {Point[]} points @param {boolean} always */
  #drawTo(points, always = false) {
    if (this.stroke) {
      for (const at of points) this.#extend(this.stroke, at, always);
      this.host.pen.changed(this.stroke);
    } else if (this.box) [this.box[2], this.box[3]] = points[points.length - 1];
  }

/** @param {PointerEvent} event */
  #move(event) {
    const place = this.#place(event), before = this.#pointers.get(event.pointerId);
    if (this.cross && !before && this.#action) return;   // the keyboard is drawing
    this.cross = null;
    this.pointer = event.pointerType === "touch" ? null : place;
    if (before) {
      if (this.stroke?.do === "select" && event.shiftKey) {
        this.host.pen.turn(place[0] - before[0]);
      } else if (this.stroke || this.box) {
        const events = event.getCoalescedEvents?.() ?? [];
        this.#drawTo((events.length ? events : [event]).map((one) => this.view.toImage(...this.#place(one))));
      } else if (this.#action === "pan") {
        this.view.pan(place[0] - before[0], place[1] - before[1]);
        this.host.viewChanged();
      } else if (this.#action === "pinch") {
        this.#pinch(event.pointerId, before, place);
      }
      this.#pointers.set(event.pointerId, place);
    }
    this.host.drawTop();
  }

  /** @param {number} id @param {Point} before @param {Point} place */
  #pinch(id, before, place) {
    const other = [...this.#pointers].find(([key]) => key !== id)?.[1];
    if (!other) return;
    const distance = (/** @type {Point} */ a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
    this.view.pan((place[0] - before[0]) / 2, (place[1] - before[1]) / 2);
    if (distance(before) > 4) {
      this.view.zoom(distance(place) / distance(before), (place[0] + other[0]) / 2, (place[1] + other[1]) / 2);
    }
    this.host.viewChanged();
  }

/** @param {PointerEvent} event */
  #up(event) {
    if (!this.#pointers.has(event.pointerId)) return;
    const place = this.#place(event);
    if (this.stroke) {
      this.#extend(this.stroke, this.view.toImage(...place));
      this.#finishStroke();
    } else if (this.box) {
      this.#finishBox(this.box);
    }
    this.#forget(event);
    this.host.drawTop();
  }

  #finishStroke() {
    this.stroke = null;
    this.host.pen.done();
  }

  /** @param {Rectangle} box */
  #finishBox([x0, y0, x1, y1]) {
    this.box = null;
    this.host.boxDone([Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)]);
  }

  // ---- the keyboard

  /**
   * Move the cross-hair, which starts in the middle of what is shown; what is being drawn follows.
   * @param {number} dx
   * @param {number} dy
   * @param {boolean} fine   by a pixel of the image, else by about the brush
   */
  moveCross(dx, dy, fine) {
    const { host, view } = this;
    if (!host.ready || (this.#action && !this.cross)) return;
    this.canvas.focus({ preventScroll: true });
    const [x, y] = this.cross ?? view.toImage(...(this.pointer ?? [view.screenWidth / 2, view.screenHeight / 2])).map(Math.floor);
    const step = fine ? 1 : Math.max(1, Math.round(8 / view.scale)), limit = (/** @type {number} */ value, /** @type {number} */ size) => Math.max(0.5, Math.min(size - 0.5, value));
    this.cross = this.cross ? [limit(x + step * dx, view.width), limit(y + step * dy, view.height)] : [limit(x + 0.5, view.width), limit(y + 0.5, view.height)];
    if (view.reveal(...this.cross)) host.viewChanged();
    this.pointer = view.toScreen(...this.cross);
    this.#drawTo([this.cross], true);
    host.drawTop();
  }

  /** Start to draw at the cross-hair, or set a corner of a box. */
  pressCross() {
    if (!this.cross || !this.host.ready || this.#pointers.size) return;
    if (this.box) this.#finishBox(this.box);
    else this.#press(this.cross, this.host.tool === "background", this.host.tool === "erase");
    this.host.drawTop();
  }

  /** End the stroke at the cross-hair; a box remains open. */
  releaseCross() {
    if (!this.cross || this.#pointers.size) return;
    if (this.stroke) this.#finishStroke();
    if (!this.box) this.#action = null;
    this.host.drawTop();
  }

/** @param {PointerEvent} event */
  #forget(event) {
    this.#pointers.delete(event.pointerId);
    // After a pinch, the remaining finger must not draw.
    if (this.#action !== "pinch" || !this.#pointers.size) this.#action = null;
    this.#showCursor();
  }

  /** Give up what is being drawn. */
  cancel() {
    const drawn = this.stroke;
    this.stroke = this.box = null;
    if (this.#action !== "pinch") this.#action = null;
    if (drawn) this.host.pen.cancelled();
    this.host.drawTop();
  }

  /** @param {boolean} held */
  setSpace(held) {
    this.space = held;
    this.#showCursor();
    this.host.drawTop();
  }

  #showCursor() {
    this.canvas.classList.toggle("pan", this.space && this.#action !== "pan");
    this.canvas.classList.toggle("panning", this.#action === "pan");
    this.canvas.classList.toggle("cross", this.host.tool === "box" && !this.space);
  }

  toolChanged() {
    this.#showCursor();
    this.host.drawTop();
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    event.preventDefault();
    if (!this.host.ready) return;
    // With Shift, browsers turn the wheel's direction to the side.
    const lines = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 200 : 1);
    if (event.shiftKey || event.altKey) {
      this.host.setRadius(this.host.radiusStep - Math.sign(lines));
    } else {
      // A pinch on a touch pad arrives as a wheel with Ctrl, in small steps.
      this.view.zoom(Math.exp(-lines * (event.ctrlKey ? 0.01 : 0.0015)), ...this.#place(event));
      this.host.viewChanged();
    }
  }
}
