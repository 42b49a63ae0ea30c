// The page: one image with its strokes and its cut, and the controls around it.

import { $, buttonOf, canvasOf, inputOf } from "./elements.js";
import { bindControls, DISPLAYS, RADII, TOOLS } from "./controls.js";
import { Connection } from "./socket.js";
import { bindKeys, bindRadios, choose } from "./keys.js";
import { Mask } from "./mask.js";
import { Objects } from "./objects.js";
import * as panel from "./panel.js";
import { ShownImage } from "./image.js";
import { Renderer } from "./renderer.js";
import { Strokes } from "./strokes.js";
import { Tools } from "./tools.js";
import { View } from "./view.js";

/** @import { Description, Item, KnownStroke, MaskUpdate, Messages, State, Stroke } from "./socket.js" */
/** @import { DrawnStroke, Rectangle } from "./tools.js" */
/** @typedef {{ stroke: DrawnStroke, number: number, sent: number, time: number }} Drawing */

const PREVIEW_INTERVAL = 70;   // milliseconds between previews of a stroke that is being drawn

/** @param {unknown} error */
const reasonOf = (error) => (error instanceof Error ? error.message : String(error));

/** @type {State} */
const NO_STATE = {
  item: -1, order: [], objects: [], undo: false, redo: false, box: null, masks: false, labels: [], energy: null, seconds: 0,
  pending: false, certified: false, exact: false, message: "",
};

export class App {
  /** @type {Item[]} */
  items = [];
  item = -1; ready = false;
  /** @type {Description | null} */
  info = null;
  tool = "object"; label = 1; display = "both"; alone = false; strokesShown = true;
  axis = -1; index = 0; level = 0.5; window = 1;
  state = NO_STATE;
  /** @type {Set<string>} */
  kinds = new Set();
  radiusStep = RADII.indexOf(8); radiusChosen = false;
  #number = Date.now() % 2 ** 31;
  /** @type {Drawing | null} */
  #drawing = null;
  /** @type {Stroke[]} */
  #copied = [];   // strokes for the image that is being opened
  view = new View(); mask = new Mask(); strokes = new Strokes(); image = new ShownImage();
  tools = new Tools(canvasOf("top"), this.view, this);
  renderer = new Renderer(this);
  objects = new Objects(this);

  constructor() {
    new ResizeObserver(() => { this.renderer.resize(); this.viewChanged(); }).observe($("stage"));
    bindControls(this);
    bindKeys(this);
    addEventListener("keydown", ({ key }) => { if (key === "Tab") document.body.classList.remove("pointing"); });
    addEventListener("pointerdown", () => document.body.classList.add("pointing"), true);
    bindRadios();
    const address = new URL("socket", document.baseURI);
    address.protocol = address.protocol.replace("http", "ws");
    this.connection = new Connection(address, {
      hello: (message) => this.#hello(message), document: (info) => this.#document(info),
      items: (message) => this.#items(message), item: (message) => this.#itemState(message),
      state: (state) => this.#state(state), mask: (update) => this.#mask(update),
      stroke: (stroke) => this.#stroke(stroke), confirmed: (message) => this.#confirmed(message),
      saved: (message) => this.#saved(message), error: (message) => this.#error(message),
      open: () => { $("lost").hidden = true; },
      closed: () => { $("lost").hidden = false; },
      refused: ({ text }) => { $("lost").textContent = `Not connected: ${text}`; },
    });
  }

  // ---- what the server says

  /** @param {Messages["hello"]} message */
  #hello({ items, current, colours, kinds, chosen, out }) {
    this.items = items;
    this.objects.setColours(colours);
    this.kinds = new Set(chosen);
    panel.showKinds(kinds, this.kinds);
    $("out").textContent = out;
    if (!items.length) panel.hint("Drop an image on the page, or paste one");
    this.open(this.item >= 0 && this.item < items.length ? this.item : current);
  }

  /** @param {Messages["items"]} message */
  #items({ items }) {
    this.items = items;
    panel.showItems(items, this.item, (item) => this.open(item));
  }

  /** @param {Messages["item"]} message */
  #itemState({ item, state }) {
    this.items[item].state = state;
    this.#items({ items: this.items });
  }

  /** @param {Description} info */
  async #document(info) {
    if (info.item !== this.item) return;
    const again = this.info?.item === info.item;
    this.info = info;
    $("title").textContent = info.name;
    document.title = `${info.name} · cutmatch`;
    $("volume").hidden = info.shape.length < 3;
    $("start-section").hidden = $("kinds").hidden = info.shape.length > 2;
    $("volume-kind").hidden = info.shape.length < 3;
    if (!this.radiusChosen) this.setRadius(RADII.findLastIndex((radius) => radius <= Math.max(...info.shape) / 64));
    this.strokes.order = [];
    this.tools.forgetLine();
    if (info.window) {
      if (!again) [this.axis, this.index, this.level, this.window] = [0, info.shape[0] >> 1, ...info.window];
      this.#sliders();
      this.#showSlice(!again);
    } else {
      [this.axis, this.index] = [-1, 0];
      this.mask.resize(info.shape[1], info.shape[0]);
      if (!again) {
        this.view.setImage(info.shape[1], info.shape[0]);
        try {
          if (!await this.image.load(info.address)) return;
        } catch (error) {
          this.#error({ text: reasonOf(error) });
          return;
        }
      }
      this.connection.send({ do: "slice", item: this.item, axis: -1, index: 0 });
      this.ready = true;
    }
    this.connection.sendAgain(info.item);
    this.#drawAgain(this.#copied.splice(0));
    this.viewChanged();
  }

  /** @param {State} state */
  #state(state) {
    if (state.item !== this.item) return;
    this.state = state;
    this.strokes.order = state.order;
    panel.showState(state);
    this.objects.set(state.objects);
    this.strokesChanged();
    this.drawTop();
  }

  /** @param {MaskUpdate} update */
  #mask(update) {
    if (update.item !== this.item || update.axis !== this.axis || update.index !== this.index) return;
    if (update.x + update.width > this.mask.width || update.y + update.height > this.mask.height) return;
    this.mask.update(update);
    this.draw();
    performance.mark("cutmatch-mask");
  }

  /** @param {KnownStroke} stroke */
  #stroke(stroke) {
    if (stroke.item === this.item) this.strokes.add(stroke.key, stroke);
  }

  /** @param {Messages["confirmed"]} message */
  #confirmed({ number }) {
    if (this.strokes.own.delete(number)) this.strokesChanged();
  }

  /** @param {Messages["saved"]} message */
  #saved({ files }) { $("saved").textContent = `Saved ${files.join(", ")}`; }

  /** @param {Messages["error"]} message */
  #error({ text, number }) {
    if (number !== undefined) { this.strokes.own.delete(number); this.strokesChanged(); }
    panel.hint(text, true);
  }

  // ---- images and slices

  /** @param {number} item */
  open(item) {
    if (item < 0 || item >= this.items.length) return;
    this.cancel();
    this.#copied = [];
    if (item !== this.item) { this.ready = false; this.info = null; this.strokes.reset(); this.objects.reset(); $("saved").textContent = ""; }
    this.item = item;
    panel.showItems(this.items, item, (other) => this.open(other));
    if (!this.ready) panel.hint("Opening…");
    this.connection.send({ do: "open", item });
  }

  /** @param {number} by */
  step(by) { this.open(this.item + by); }

  /** @param {boolean} fit */
  async #showSlice(fit) {
    if (!this.info?.spacing) return;
    const { shape, spacing, address } = this.info, [down, across] = [0, 1, 2].filter((axis) => axis !== this.axis);
    const [height, width] = [shape[down], shape[across]], [axis, index] = [this.axis, this.index];
    try {
      if (!await this.image.loadSlice(`${address}/${axis}/${index}`, width, height)) return;
    } catch (error) {
      this.#error({ text: reasonOf(error) });
      return;
    }
    this.mask.resize(width, height);
    this.image.setWindow(this.level, this.window);
    if (fit) this.view.setImage(width, height, spacing[down] / spacing[across]);
    this.connection.send({ do: "slice", item: this.item, axis, index });
    this.ready = true;
    this.viewChanged();
  }

  /** @param {number} by */
  moveSlice(by) { if (this.axis >= 0) this.setSlice(this.index + by); }

  /** @param {number} index */
  setSlice(index) {
    if (!this.info) return;
    this.cancel();
    this.index = Math.max(0, Math.min(this.info.shape[this.axis] - 1, index));
    this.tools.forgetLine();
    this.#sliders();
    this.#showSlice(false);
  }

  /** @param {number} axis */
  setAxis(axis) {
    if (!this.info || this.axis < 0) return;
    this.cancel();
    [this.axis, this.index] = [axis, this.info.shape[axis] >> 1];
    this.#sliders();
    this.#showSlice(true);
  }

  nextAxis() { if (this.axis >= 0) this.setAxis((this.axis + 1) % 3); }

  /** @param {number} level @param {number} width   of the window of grey values, as shares of the range */
  setWindow(level, width) {
    [this.level, this.window] = [level, width];
    this.#sliders();
    this.image.setWindow(level, width);
    this.draw();
  }

  #sliders() {
    if (!this.info?.range) return;
    const [low, high] = this.info.range, length = this.info.shape[this.axis];
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

  /** @returns {[number, number]}   axis and index */
  get slice() { return [this.axis, this.index]; }

  // ---- what the user draws

  get radius() { return RADII[this.radiusStep]; }

  /**
   * Send the parts of a stroke that is being drawn as previews; each starts with the last point of the one before.
   * @param {DrawnStroke} stroke
   */
  strokeChanged(stroke) {
    const known = this.#drawing, now = performance.now(), count = stroke.points.length / 2;
    const drawing = known?.stroke === stroke ? known : { stroke, number: ++this.#number, sent: 0, time: 0 };
    this.#drawing = drawing;
    this.drawTop();
    if (now - drawing.time < PREVIEW_INTERVAL || count <= drawing.sent || stroke.filled || this.state.labels.length < 2) return;
    this.#send(drawing, false);
    [drawing.time, drawing.sent] = [now, count];
  }

  /** @param {Drawing} drawing @param {boolean} final */
  #send({ stroke, number, sent }, final) {
    const points = stroke.points.slice(2 * Math.max(0, sent - 1));
    this.connection.stroke(this.item, number, { ...stroke, points }, final);
  }

  strokeDone() {
    const drawing = this.#drawing;
    if (!drawing) return;
    performance.mark("cutmatch-stroke");
    this.#send(drawing, true);
    this.#drawing = null;
    this.strokes.own.set(drawing.number, drawing.stroke);
    this.strokesChanged();
  }

  /** Draw the strokes of this slice again in the next one, or those of this image in the next image. */
  copyToNext() {
    const [axis, index] = this.slice, isLast = axis < 0 ? this.item + 1 >= this.items.length : index + 1 >= (this.info?.shape[axis] ?? 0);
    if (!this.ready || isLast) return;
    const strokes = [...this.strokes.all()].filter((one) => one.axis === axis && one.index === index);
    if (axis < 0) {
      this.step(1);
      this.#copied = strokes;
    } else {
      this.moveSlice(1);
      this.#drawAgain(strokes.map((one) => ({ ...one, index: index + 1 })));
    }
  }

  /** @param {Stroke[]} strokes */
  #drawAgain(strokes) {
    for (const stroke of strokes) this.connection.stroke(this.item, ++this.#number, stroke, true);
  }

  strokeCancelled() {
    if (this.#drawing?.sent) this.connection.send({ do: "cancel", item: this.item, number: this.#drawing.number });
    this.#drawing = null;
  }

  /** @param {Rectangle} box */
  boxDone([x0, y0, x1, y1]) {
    const { width, height } = this.view, clip = (/** @type {number} */ v, /** @type {number} */ most) => Math.max(0, Math.min(most, Math.round(v)));
    /** @type {Rectangle} */
    const box = [clip(x0, width), clip(y0, height), clip(x1, width), clip(y1, height)];
    if (box[2] - box[0] < 2 || box[3] - box[1] < 2) return;
    this.connection.send({ do: "box", item: this.item, box: this.axis < 0 ? box : this.#volumeBox(box) });
    this.setTool("object");
  }

  /**
   * A box in a slice keeps the extent of an earlier box along the other axis, or has that of the volume.
   * @param {Rectangle} box
   */
  #volumeBox([x0, y0, x1, y1]) {
    const sizes = [...this.info?.shape ?? []].toReversed(), last = this.state.box ?? [0, 0, 0, ...sizes];
    const [across, down] = [0, 1, 2].filter((place) => place !== 2 - this.axis), box = [...last];
    [box[across], box[across + 3], box[down], box[down + 3]] = [x0, x1, y0, y1];
    return box;
  }

  /**
   * The box in the image shown; in a volume, where it cuts the slice.
   * @returns {Rectangle | null}
   */
  get shownBox() {
    const { box } = this.state;
    if (!box) return null;
    if (this.axis < 0) return [box[0], box[1], box[2], box[3]];
    const own = 2 - this.axis, [across, down] = [0, 1, 2].filter((place) => place !== own);
    if (this.index < box[own] || this.index >= box[own + 3]) return null;
    return [box[across], box[down], box[across + 3], box[down + 3]];
  }

  undo() { this.edit("undo"); }
  redo() { this.edit("redo"); }
  clear() { this.edit("clear"); }
  cancel() { this.tools.cancel(); }

  /**
   * @param {"undo" | "redo" | "clear" | "describe" | "lock" | "unlock" | "delete"} what
   * @param {{ [argument: string]: unknown }} details
   */
  edit(what, details = {}) {
    if (!this.ready) return;
    this.cancel();
    this.tools.forgetLine();
    this.connection.send({ do: what, item: this.item, ...details });
  }

  /** @param {boolean} next   whether to open the next image */
  save(next) {
    if (!this.ready) return;
    this.connection.send({ do: "save", item: this.item, kinds: [...this.kinds] });
    if (next) this.step(1);
  }

  /** @param {string} kind @param {File} file */
  async sendHint(kind, file) {
    const answer = await fetch(`hint/${kind}/${this.item}`, { method: "POST", body: file });
    if (!answer.ok) this.#error({ text: await answer.text() });
  }

  /** @param {File} file */
  async upload(file) {
    const answer = await fetch(`images?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    if (answer.ok) this.open((await answer.json()).item);
    else this.#error({ text: await answer.text() });
  }

  // ---- drawing

  draw() { this.renderer.draw(); }
  drawTop() { this.renderer.drawTop(); }
  strokesChanged() { this.renderer.strokesStale = true; this.draw(); }

  viewChanged() {
    this.renderer.strokesStale = true;
    $("zoom").textContent = `${Number((100 * this.view.scale).toPrecision(3))} %`;
    this.draw();
    this.drawTop();
  }

  // ---- controls

  /** @param {string} tool */
  setTool(tool) {
    if (buttonOf(`tool-${tool}`).disabled) return;
    this.tool = tool;
    choose(TOOLS.map((name) => $(`tool-${name}`)), $(`tool-${tool}`));
    this.tools.toolChanged();
  }

  /** @param {number} label */
  setLabel(label) {
    this.label = label;
    this.objects.draw();
    if (!["area", "box"].includes(this.tool)) this.setTool("object");
  }

  /** @param {string} display */
  setDisplay(display) {
    this.display = display;
    choose(DISPLAYS.map((name) => $(`show-${name}`)), $(`show-${display}`));
    this.draw();
  }

  nextDisplay() { this.setDisplay(DISPLAYS[(DISPLAYS.indexOf(this.display) + 1) % DISPLAYS.length]); }

  /** @param {number} by */
  changeRadius(by) { this.radiusChosen = true; this.setRadius(this.radiusStep + by); }

  /** @param {number} step */
  setRadius(step) {
    this.radiusStep = Math.max(0, Math.min(RADII.length - 1, step));
    inputOf("radius").value = String(this.radiusStep);
    $("radius-value").textContent = `${this.radius} px`;
    this.drawTop();
  }

  /** @param {boolean} held */
  setSpace(held) { this.tools.setSpace(held); }
  /** @param {boolean} alone */
  setAlone(alone) { if (alone !== this.alone) { this.alone = alone; this.draw(); this.drawTop(); } }
  toggleStrokes() { $("strokes-shown").click(); }
  fit() { this.view.fit(); this.viewChanged(); }
  /** @param {number} factor */
  zoomBy(factor) {
    const [x, y] = this.tools.pointer ?? [this.view.screenWidth / 2, this.view.screenHeight / 2];
    this.view.zoom(factor, x, y);
    this.viewChanged();
  }
  help() {
    const dialog = $("help");
    if (dialog instanceof HTMLDialogElement) dialog.showModal();
  }
}

Object.assign(globalThis, { cutmatchApp: new App() });   // for tests in a browser
