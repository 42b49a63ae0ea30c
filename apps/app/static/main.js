// The page: one image with its strokes and its cut, and the controls around it.

import { $, canvasOf, choose, inputOf, reasonOf } from "./elements.js";
import { boxOf, shownBox } from "./boxes.js";
import { bindControls, DISPLAYS, enable, RADII, setTolerance, TOOLS } from "./controls.js";
import { Connection } from "./socket.js";
import { bindKeys } from "./keys.js";
import { Look } from "./look.js";
import { Mask } from "./mask.js";
import { Objects } from "./objects.js";
import * as panel from "./panel.js";
import { ShownImage } from "./image.js";
import { Pen } from "./pen.js";
import { Renderer } from "./renderer.js";
import { Slices } from "./slices.js";
import { Strokes } from "./strokes.js";
import { Tools } from "./tools.js";
import { View } from "./view.js";

/** @import { Description, Item, KnownStroke, MaskUpdate, Messages, State } from "./socket.js" */
/** @import { Rectangle } from "./tools.js" */

const MIN_RADIUS = 0.5;        // pixels of the image
const TAKING = ["select", "solid"];   // tools that take away when they are chosen again
const BY_HAND = ["tool-select", "tool-solid", "tool-push"];

/** @type {State} */
const NO_STATE = {
  item: -1, version: -1, order: [], objects: [], undo: false, redo: false, boxes: {}, labels: [], energy: null, seconds: 0,
  pending: false, certified: false, exact: false, message: "",
};

export class App {
  /** @type {Item[]} */
  items = [];
  item = -1; ready = false;
  isTaken = false;   // whether another tab draws on the image
  /** @type {Description | null} */
  info = null;
  tool = "object"; isTaking = false; label = 1; display = "both"; alone = false; strokesShown = true;
  state = NO_STATE;
  /** @type {Set<string>} */
  kinds = new Set();
  radiusStep = RADII.indexOf(12);
  #compiled = 0;     // kernels, while some are compiled
  /** @type {Set<number>} */
  #saving = new Set();   // images
  view = new View(); mask = new Mask(); strokes = new Strokes(); image = new ShownImage(); slices = new Slices(this);
  tools = new Tools(canvasOf("top"), this.view, this);
  renderer = new Renderer(this);
  pen = new Pen(this);
  objects = new Objects(this);
  look = new Look(this);

  constructor() {
    new ResizeObserver(() => { this.renderer.resize(); this.viewChanged(); }).observe($("stage"));
    bindControls(this);
    bindKeys(this);
    addEventListener("keydown", ({ key }) => { if (key === "Tab") document.body.classList.remove("pointing"); });
    addEventListener("pointerdown", () => document.body.classList.add("pointing"), true);
    const address = new URL("socket", document.baseURI);
    address.protocol = address.protocol.replace("http", "ws");
    this.connection = new Connection(address, {
      hello: (message) => this.#hello(message), document: (info) => this.#document(info),
      items: (message) => this.#items(message), item: ({ item, state }) => this.#itemState(item, state),
      unreadable: (message) => this.#unreadable(message), taken: ({ item }) => this.#taken(item),
      compiling: ({ count }) => { this.#compiled = count; this.#showState(); },
      state: (state) => this.#state(state), mask: (update) => this.#mask(update),
      look: (message) => this.look.show(message), stroke: (stroke) => this.#stroke(stroke), confirmed: (message) => this.#confirmed(message),
      saved: (message) => this.#saved(message), error: (message) => this.error(message),
      open: () => { $("lost").hidden = true; },
      closed: () => this.#lost(),
    });
  }

  // ---- what the server says

  /** @param {Messages["hello"]} message */
  #hello({ items, current, colours, kinds, chosen, classes, out }) {
    this.items = items;
    this.objects.setClasses(classes);
    this.objects.setColours(colours);
    this.kinds = new Set(chosen);
    panel.showKinds(kinds, this.kinds);
    $("out").textContent = out;
    if (!items.length) panel.showCard("empty", "Cut out an object", "Open a photograph or a TIFF file, drop one on this page, or paste one. It goes only to the computer that runs cutmatch.");
    if (!this.isTaken) this.open(this.item >= 0 && this.item < items.length ? this.item : current);
  }

  /** @param {Messages["items"]} message */
  #items({ items }) {
    this.items = items;
    panel.showItems(items, this.item, (item) => { this.open(item); $("files").hidePopover(); });
  }

  /** @param {number} item @param {Item["state"]} state */
  #itemState(item, state) {
    this.items[item].state = state;
    this.#items({ items: this.items });
  }

  /** @param {Messages["unreadable"]} message */
  #unreadable({ item, text }) {
    this.#itemState(item, "unreadable");
    if (item !== this.item) return;
    this.#showCard("unreadable", `${this.items[item].name} cannot be opened`, text);
  }

  /** In place of the image. @param {"unreadable" | "taken"} kind @param {string} title @param {string} text */
  #showCard(kind, title, text) {
    enable(false);
    panel.hint("");
    panel.showCard(kind, title, text);
    this.#showBusy();
  }

  /** An image has one tab that draws on it. @param {number} item */
  #taken(item) {
    if (item !== this.item) return;
    this.cancel();
    this.ready = false;
    this.isTaken = true;
    this.#showCard("taken", `${this.items[item].name} is open in another tab`, "Its strokes are kept. Only one tab draws on an image at a time.");
  }

  #lost() {
    $("lost").hidden = false;
    this.setPending(false);
    this.#saving.clear();
    this.#showSaving();
  }

  /** @param {Description} info */
  async #document(info) {
    if (info.item !== this.item) return;
    const again = this.info?.item === info.item, isVolume = info.shape.length > 2;
    this.info = info;
    document.title = `${info.name} · cutmatch`;
    $("cutout").setAttribute("href", `cutout/${info.item}`);
    for (const id of ["volume", "volume-kind"]) $(id).hidden = !isVolume;
    for (const id of ["kinds", "brighten-row", "cutout-row", "start-mask", "by-hand", ...BY_HAND]) $(id).hidden = isVolume;
    if (isVolume && BY_HAND.includes(`tool-${this.tool}`)) this.setTool("object");
    this.strokes.order = [];
    if (isVolume) {
      if (!again) this.slices.start();
      this.attempt(this.slices.show(!again));
    } else {
      this.slices.forImage();
      this.mask.resize(info.shape[1], info.shape[0]);
      if (!again) {
        this.view.setImage(info.shape[1], info.shape[0]);
        try {
          if (!await this.image.load(info.address) || info.item !== this.item) return;
        } catch (error) {
          this.#unreadable({ item: info.item, text: reasonOf(error) });
          return;
        }
      }
      this.connection.send({ do: "slice", item: this.item, axis: -1, index: 0 });
      this.setReady();
    }
    this.connection.sendAgain(info.item);
    this.viewChanged();
  }

  /** The image can be drawn on. */
  setReady() {
    this.ready = true;
    enable(true);
    panel.showCard("");
    this.look.update();
    this.#showState();
    this.viewChanged();
  }

  /** @param {State} state */
  #state(state) {
    if (state.item !== this.item) return;
    const box = state.boxes[this.label], isNewBox = box && String(box) !== String(this.box);
    this.state = state;
    if (isNewBox && this.tool === "box") this.setTool("object");   // a box that is refused is drawn again
    this.strokes.order = state.order;
    this.#showState();
    this.objects.set(state.objects);
    this.#showAreas();
    this.look.update();
    this.strokesChanged();
    this.drawTop();
  }

  /** Until the first state, the image is shown, and strokes are kept. */
  #showState() {
    if (this.ready) panel.showState(this.state, this.#compiled);
    this.#showBusy();
  }

  #showAreas() {
    const { counts, width, height } = this.mask;
    panel.showAreas(counts, width * height);
    this.objects.showAreas(counts, width * height);
  }

  #showBusy() {
    const isOpening = !this.ready && !this.isTaken && this.item >= 0 && this.items[this.item]?.state !== "unreadable";
    $("busy").hidden = !(isOpening || this.#saving.has(this.item) || (this.ready && (this.state.pending || (this.state.item < 0 && this.connection.open))));
  }

  /** @param {MaskUpdate} update */
  #mask(update) {
    if (update.item !== this.item || update.axis !== this.axis || update.index !== this.index) return;
    if (update.x + update.width > this.mask.width || update.y + update.height > this.mask.height) return;
    this.mask.update(update);
    this.pen.maskChanged(update);
    if (!this.state.pending) this.#showAreas();
    this.draw();
    performance.mark("cutmatch-mask");
  }

  /** @param {KnownStroke} stroke */
  #stroke(stroke) {
    if (stroke.item === this.item) this.strokes.known.set(stroke.key, stroke);
  }

  /** @param {Messages["confirmed"]} message */
  #confirmed({ number }) {
    if (this.strokes.own.delete(number)) this.strokesChanged();
  }

  /** @param {Messages["saved"]} message */
  #saved({ item, files }) {
    this.#saving.delete(item);
    this.#showSaving();
    $("saved").textContent = `Saved ${files.join(", ")}`;
    const { length } = this.items, isLast = length > 1 && this.items.every(({ state }, other) => other === item || state === "done" || state === "approved");
    panel.hint(`Saved ${files.join(", ")} in ${$("out").textContent}${isLast ? `. All ${length} images are saved` : ""}`, "news");
  }

  #showSaving() {
    panel.showSaving(this.#saving.has(this.item));
    this.#showBusy();
  }

  /** @param {Messages["error"]} message */
  error({ text, item = this.item, number }) {
    if (number !== undefined) { this.strokes.own.delete(number); this.strokesChanged(); } else this.#saving.delete(item);
    this.setPending(false);
    this.#showSaving();
    panel.hint(text, "error");
  }

  /**
   * Show the error of work that fails.
   * @param {Promise<unknown>} work
   */
  async attempt(work) {
    try { await work; } catch (error) { this.error({ text: reasonOf(error) }); }
  }

  // ---- images

  /** @param {number} item */
  open(item) {
    if (item < 0 || item >= this.items.length) return;
    panel.forgetError();
    this.cancel();
    this.isTaken = false;
    const { name, state } = this.items[item], { length } = this.items;
    // A new image starts with the first object, or with a box where the one before it did.
    if (item !== this.item) {
      this.label = 1;
      setTolerance();
      this.setTool(state === "new" && (Object.keys(this.state.boxes).length || this.tool === "box") ? "box" : "object");
    }
    if (item !== this.item || !this.ready) {
      this.ready = false;
      this.info = null;
      this.state = NO_STATE;
      this.strokes.reset();
      this.objects.reset();
      for (const id of ["saved", "areas", "certificate", "pointer"]) $(id).textContent = "";
      panel.showStatus();
      panel.showCard("opening", `Opening ${name}…`);
      $("title").textContent = $("title").title = length > 1 ? `${item + 1}/${length} ${name}` : name;
      panel.hint("");
      if (state === "unreadable") this.items[item].state = "new";
      this.draw();
      this.drawTop();
    }
    this.item = item;
    this.#items({ items: this.items });
    this.#showSaving();
    this.connection.send({ do: "open", item });
  }

  /** @param {number} by */
  step(by) { this.open(this.item + by); }

  get axis() { return this.slices.axis; }
  get index() { return this.slices.index; }

  /** @returns {[number, number]}   axis and index */
  get slice() { return [this.slices.axis, this.slices.index]; }

  /** The pixel of the image or slice at the pointer. @returns {[number, number] | null} */
  get pixel() {
    const { view, tools } = this, [x, y] = tools.pointer ? view.toImage(...tools.pointer).map(Math.floor) : [-1, -1];
    return x >= 0 && y >= 0 && x < view.width && y < view.height ? [x, y] : null;
  }

  /** The box of the chosen object. @returns {number[] | null} */
  get box() { return this.state.boxes[this.label] ?? null; }

  get shownBox() { return shownBox(this); }

  // ---- what the user draws

  /** In pixels of the image: the brush has the same size on the screen at every zoom. */
  get radius() { return Math.max(MIN_RADIUS, Number((RADII[this.radiusStep] / this.view.scale).toPrecision(2))); }

  /** @param {Rectangle} drawn */
  boxDone(drawn) {
    const box = boxOf(this, drawn);
    if (!box) return;
    if (this.box && this.slices.axis < 0) panel.hint("This box replaces the object's earlier one; New object keeps both", "news");
    if (this.connection.send({ do: "box", item: this.item, box, label: this.label })) this.setPending(true);
  }

  /**
   * Show that an answer is awaited, before the server says so.
   * @param {boolean} pending
   */
  setPending(pending) {
    if (pending) panel.forgetError();
    this.state = { ...this.state, pending: pending && this.connection.open };
    this.#showState();
  }

  takeRival() { if (this.state.message === panel.RIVAL) this.edit("take_rival"); else panel.hint("No other object fits this box", "news"); }
  cancel() { this.tools.cancel(); }

  /**
   * @param {"undo" | "redo" | "clear" | "describe" | "lock" | "clean_up" | "unlock" | "delete" | "wider" | "drop_preview" | "take_rival" | "export_approved"} what
   * @param {{ [argument: string]: unknown }} details
   */
  edit(what, details = {}) {
    if (!this.ready) return;
    panel.forgetError();
    this.cancel();
    if (what !== "wider") this.pen.watch("");
    this.connection.send({ do: what, item: this.item, ...details });
  }

  /** @param {boolean} next   whether to open the next image @param {"save" | "approve"} what */
  save(next, what = "save") {
    if (!this.ready) return;
    panel.forgetError();
    if (this.connection.send({ do: what, item: this.item, kinds: [...this.kinds] })) this.#saving.add(this.item);
    this.#showSaving();
    if (this.#saving.size && (this.state.pending || this.#compiled)) panel.hint("Saved as soon as the outline is final; go on meanwhile", "news");
    if (next) this.step(1);
  }

  // ---- drawing

  draw() { this.renderer.draw(); }
  drawTop() { this.renderer.drawTop(); }
  strokesChanged() { this.renderer.strokesStale = true; this.slices.strokesChanged(); this.draw(); }

  viewChanged() {
    this.renderer.strokesStale = true;
    this.#showRadius();
    $("zoom").textContent = `${Number((100 * this.view.scale).toPrecision(3))} %`;
    this.draw();
    this.drawTop();
  }

  // ---- controls

  /** @param {string} tool */
  setTool(tool) {
    if (this.axis >= 0 && BY_HAND.includes(`tool-${tool}`)) {
      panel.hint("Select, Solid, Push, and tighter or wider, change images only. In a volume, draw strokes, or a box", "error");
      return;
    }
    const isChanged = tool !== this.tool;
    this.isTaking = TAKING.includes(tool) && !isChanged && !this.isTaking;
    if (isChanged || TAKING.includes(tool)) panel.sayTool(this.isTaking ? "taking" : tool);
    this.tool = tool;
    choose(TOOLS.map((name) => $(`tool-${name}`)), $(`tool-${tool}`));
    for (const name of TAKING) $(`tool-${name}`).classList.toggle("taking", this.isTaking && name === tool);
    this.tools.toolChanged();
  }

  /** @param {number} label */
  setLabel(label) {
    this.label = label;
    this.objects.draw();
    this.look.update();
    if (this.tool !== "box") this.setTool("object");
    this.drawTop();
  }

  /** @param {string} display */
  setDisplay(display) {
    this.display = display;
    choose(DISPLAYS.map((name) => $(`show-${name}`)), $(`show-${display}`));
    $("stage").classList.toggle("chequered", display === "cutout");
    this.draw();
  }

  nextDisplay() { this.setDisplay(DISPLAYS[(DISPLAYS.indexOf(this.display) + 1) % DISPLAYS.length]); }

  /** @param {number} step */
  setRadius(step) {
    this.radiusStep = Math.max(0, Math.min(RADII.length - 1, step));
    inputOf("radius").value = String(this.radiusStep);
    this.#showRadius();
    this.drawTop();
  }

  #showRadius() { $("radius-value").textContent = `${this.radius} px`; }

  /** @param {boolean} alone */
  setAlone(alone) { if (alone !== this.alone) { this.alone = alone; this.draw(); this.drawTop(); } }
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
