// Pointer, touch and pen: strokes, boxes, moving and zooming.  `host` is told what was drawn and answers what is chosen.

const PEN_ERASER = 32;         // bit of PointerEvent.buttons
const MIN_STEP = 0.7;          // screen pixels between two points of a stroke
const MAX_POINTS = 20_000;
const CLOSE = 8;               // screen pixels from its first corner at which a click ends an area

/** @import { App } from "./main.js" */
/** @import { Stroke } from "./socket.js" */
/** @import { View } from "./view.js" */
/** @typedef {[number, number]} Point   x, y */
/** @typedef {Stroke & { points: number[] }} DrawnStroke */
/** @typedef {[number, number, number, number]} Rectangle   x0, y0, x1, y1 */

export class Tools {
  /** @type {Map<number, Point>} */
  #pointers = new Map();       // those on the canvas, by id, on the screen
  /** @type {"stroke" | "area" | "box" | "pan" | "pinch" | null} */
  #action = null;
  #corners = 0;                // of the area being drawn, after the last press
  /** @type {number[] | null} */
  #lastEnd = null;             // of the last stroke, where a line begins
  /** @type {Point | null} */
  pointer = null;              // on the screen
  /** @type {DrawnStroke | null} */
  stroke = null;
  /** @type {Rectangle | null} */
  box = null;
  space = false;               // whether the key is held

  /** @param {HTMLCanvasElement} canvas @param {View} view @param {App} host */
  constructor(canvas, view, host) {
    this.canvas = canvas;
    this.view = view;
    this.host = host;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => { this.cancel(); this.#forget(event); });
    canvas.addEventListener("pointerleave", () => { this.pointer = null; host.drawTop(); });
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
    if (!this.host.ready) return;
    const place = this.#place(event);
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
      const erase = event.buttons & PEN_ERASER || this.host.tool === "erase";
      const background = !erase && (event.button === 2 || event.altKey || this.host.tool === "background");
      if (!background && !erase && this.host.objects.refuses(this.host.label)) {
        this.#action = null;   // the press has no further effect
      } else if (this.host.tool === "box" && !background && !erase) {
        this.#action = "box";
        this.box = [...this.view.toImage(...place), ...this.view.toImage(...place)];
      } else if (this.host.tool === "area" && !erase) {
        this.#action = "area";
        if (this.stroke && this.#isFirstCorner(place)) this.finishArea();
        else if (this.stroke) this.#extend(this.stroke, place, true);
        else this.#startStroke(place, background, false, false, true);
        this.#corners = (this.stroke?.points.length ?? 0) / 2;
      } else {
        this.#action = "stroke";
        this.#startStroke(place, background, Boolean(erase), event.shiftKey, false);
      }
    }
    event.preventDefault();
    this.#showCursor();
    this.host.drawTop();
  }

  /**
   * @param {Point} place
   * @param {boolean} background
   * @param {boolean} erase
   * @param {boolean} joined   whether a line leads from the last stroke
   * @param {boolean} filled
   */
  #startStroke(place, background, erase, joined, filled) {
    const { radius, label, slice } = this.host;
    const points = joined && this.#lastEnd ? [...this.#lastEnd] : [];
    this.stroke = { points, radius: filled ? 0.5 : radius, label: background ? 0 : label, erase, filled, axis: slice[0], index: slice[1] };
    this.#extend(this.stroke, place, true);
    this.host.strokeChanged(this.stroke);
  }

  /** @param {DrawnStroke} stroke @param {Point} place @param {boolean} always */
  #extend({ points }, place, always = false) {
    const [x, y] = this.view.toImage(...place), n = points.length;
    const step = MIN_STEP / this.view.scale;
    if (n >= 2 * MAX_POINTS) return;
    if (always || Math.hypot(x - points[n - 2], y - points[n - 1]) >= step) points.push(Math.fround(x), Math.fround(y));
  }

/** @param {PointerEvent} event */
  #move(event) {
    const place = this.#place(event), before = this.#pointers.get(event.pointerId);
    this.pointer = event.pointerType === "touch" ? null : place;
    if (before) {
      if (this.stroke) {
        const events = event.getCoalescedEvents?.() ?? [];
        for (const one of events.length ? events : [event]) this.#extend(this.stroke, this.#place(one));
        this.host.strokeChanged(this.stroke);
      } else if (this.box) {
        [this.box[2], this.box[3]] = this.view.toImage(...place);
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
    if (this.stroke && this.#action === "area") {
      if (this.stroke.points.length / 2 > this.#corners + 2) this.finishArea();   // it was drawn, not clicked
    } else if (this.stroke && this.#action === "stroke") {
      this.#extend(this.stroke, place);
      this.#lastEnd = this.stroke.points.slice(-2);
      this.stroke = null;
      this.host.strokeDone();
    } else if (this.box) {
      const [x0, y0, x1, y1] = this.box;
      this.box = null;
      this.host.boxDone([Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)]);
    }
    this.#forget(event);
    this.host.drawTop();
  }

/** @param {PointerEvent} event */
  #forget(event) {
    this.#pointers.delete(event.pointerId);
    // After a pinch, the remaining finger must not draw.
    if (this.#action !== "pinch" || !this.#pointers.size) this.#action = null;
    this.#showCursor();
  }

  /** @param {Point} place */
  #isFirstCorner(place) {
    const points = this.stroke?.points ?? [], [x, y] = this.view.toImage(...place);
    return points.length >= 6 && Math.hypot(x - points[0], y - points[1]) * this.view.scale < CLOSE;
  }

  /** End the area that is being drawn; false if there is none. */
  finishArea() {
    const area = this.stroke;
    if (!area?.filled) return false;
    if (area.points.length < 6) {
      this.cancel();
    } else {
      this.stroke = null;
      this.host.strokeDone();
    }
    this.host.drawTop();
    return true;
  }

  /** Give up what is being drawn. */
  cancel() {
    const drawn = this.stroke;
    this.stroke = this.box = null;
    if (this.#action !== "pinch") this.#action = null;
    if (drawn) this.host.strokeCancelled();
    this.host.drawTop();
  }

  /** @param {boolean} held */
  setSpace(held) {
    this.space = held;
    this.#showCursor();
    this.host.drawTop();
  }

  forgetLine() { this.#lastEnd = null; }

  #showCursor() {
    this.canvas.classList.toggle("pan", this.space && this.#action !== "pan");
    this.canvas.classList.toggle("panning", this.#action === "pan");
    this.canvas.classList.toggle("cross", ["area", "box"].includes(this.host.tool) && !this.space);
  }

  toolChanged() {
    if (this.stroke?.filled && this.host.tool !== "area") this.cancel();
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
      this.host.changeRadius(-Math.sign(lines));
    } else {
      // A pinch on a touch pad arrives as a wheel with Ctrl, in small steps.
      this.view.zoom(Math.exp(-lines * (event.ctrlKey ? 0.01 : 0.0015)), ...this.#place(event));
      this.host.viewChanged();
    }
  }
}
