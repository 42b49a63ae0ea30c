// The list of objects: which one is drawn, and of each its colour and name, whether it is shown and locked, and its
// removal.

import { $, buttonOf, choose } from "./elements.js";
import { hint, percent } from "./panel.js";

/** @import { App } from "./main.js" */
/** @import { KnownObject, Rgb } from "./socket.js" */

const MAX_LABEL = 254;

export class Objects {
  /** @type {KnownObject[]} */
  known = [];            // as the server knows them, by label
  /** @type {Rgb[]} */
  #colours = [];         // of labels without a colour of their own
  /** @type {Set<number>} */
  hidden = new Set();    // labels
  /** @type {Map<string, Rgb | null>} */
  #classes = new Map();  // colours by name
  #drawn = "";

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    buttonOf("new-object").onclick = () => this.create();
    buttonOf("clean-up").onclick = () => this.cleanUp(app.label);
  }

  /** Names that fields of names offer. @param {[string, Rgb | null][]} classes */
  setClasses(classes) {
    this.#classes = new Map(classes);
    $("classes").replaceChildren(...classes.map(([name]) => new Option(name)));
  }

  /** @param {Rgb[]} colours   by label */
  setColours(colours) { this.#colours = colours; this.draw(); }

  /** @param {KnownObject[]} known */
  set(known) { this.known = known; this.draw(); }

  reset() {
    this.known = [];
    this.hidden.clear();
    this.draw();
  }

  /** @param {number} label */
  of(label) { return this.known.find((one) => one.label === label); }

  /** @param {number} label */
  nameOf(label) { return this.of(label)?.name || `Object ${label}`; }

  /** @param {number} label @returns {Rgb} */
  colourOf(label) { return this.of(label)?.colour ?? this.#colours[label] ?? [255, 255, 255]; }

  /** Choose the first label without an object. */
  create() {
    const used = new Set(this.known.map((one) => one.label));
    let label = 1;
    while (used.has(label)) label++;
    if (label <= MAX_LABEL) this.app.setLabel(label);
  }

  /**
   * Choose the next object of the list, or the one before.
   * @param {number} by
   */
  step(by) {
    const labels = this.#labels, at = labels.indexOf(this.app.label);
    this.app.setLabel(labels[(at + by + labels.length) % labels.length]);
  }

  /** @param {number} label */
  toggleShown(label) {
    if (!this.hidden.delete(label)) this.hidden.add(label);
    this.draw();
  }

  /**
   * Whether nothing may be drawn with a label, as its object is locked; the page says so.
   * @param {number} label
   */
  refuses(label) {
    const isLocked = this.of(label)?.locked ?? false;
    if (isLocked) hint(`${this.nameOf(label)} is locked: its padlock unlocks it, O starts a new object`, "error");
    return isLocked;
  }

  /** @param {number} label */
  toggleLocked(label) {
    if (this.of(label)) this.app.edit(this.of(label)?.locked ? "unlock" : "lock", { label });
  }

  /** @param {number} label */
  cleanUp(label) {
    if (this.#isOpen(label)) this.app.edit("clean_up", { label });
  }

  /**
   * Whether there is an object that may change, of an image.
   * @param {number} label
   */
  #isOpen(label) { return this.of(label)?.locked === false && this.app.axis < 0; }

  /** Remove what was drawn of an object, and its row unless it is the only one. @param {number} label */
  delete(label) {
    const [other] = this.#labels.filter((one) => one !== label), name = this.nameOf(label);
    this.hidden.delete(label);
    if (this.of(label)) {
      this.app.edit("delete", { label });
      hint(`${name} is empty: Undo brings it back`, "news");
    }
    if (other && label === this.app.label) this.app.setLabel(other);
  }

  get #labels() { return [...new Set([...this.known.map((one) => one.label), this.app.label])].toSorted((a, b) => a - b); }

  /** Draw the list, unless it is as before; the colours of the image follow. */
  draw() {
    const labels = this.#labels, { hidden } = this;
    const content = JSON.stringify([this.known, labels, [...hidden], this.#colours.length]);
    if (content !== this.#drawn) {
      this.#drawn = content;
      $("objects").replaceChildren(...labels.map((label) => this.#row(label)));
      const shown = Array.from(this.#colours, (_, label) => label).filter((label) => label && !hidden.has(label));
      this.app.mask.setColours(new Map(shown.map((label) => [label, this.colourOf(label)])));
      this.app.strokesChanged();
    }
    const buttons = /** @type {HTMLElement[]} */ ([...$("objects").querySelectorAll(".pick")]);
    const chosen = buttons.find((button) => button.textContent === String(this.app.label));
    choose(buttons, chosen);
    chosen?.scrollIntoView({ block: "nearest" });
    buttonOf("clean-up").disabled = !this.#isOpen(this.app.label);
    $("tool-object").children[1].textContent = this.app.label > 1 ? `Object ${this.app.label}` : "Object";
    $("tool-object").style.setProperty("--swatch", `rgb(${this.colourOf(this.app.label).join(" ")})`);
    $("tool-background").style.setProperty("--swatch", this.backgroundColour);
  }

  /** Of strokes on the background: blue, as in files with strokes, unless that is the colour of an object. */
  get backgroundColour() { return this.#labels.includes(2) ? "rgb(250 250 250)" : "rgb(60 110 255)"; }

  /** Whether there is one object, whose surroundings are dimmed; several are tinted. */
  get areSeveral() { return this.known.length > 1; }

  /**
   * The colour of an outline: yellow around a single object, as in the command's overlay.
   * @param {number} label
   */
  lineColourOf(label) {
    if (!this.areSeveral && !this.of(label)?.colour) return "rgb(255 217 0)";
    return `rgb(${this.colourOf(label).map((one) => Math.round(128 + one / 2)).join(" ")})`;
  }

  /**
   * Show how much of the image or slice each object covers.
   * @param {Map<number, number>} counts
   * @param {number} all
   */
  showAreas(counts, all) {
    for (const row of /** @type {NodeListOf<HTMLElement>} */ ($("objects").querySelectorAll(".row"))) {
      const count = counts.get(Number(row.dataset.label)), area = row.querySelector(".area");
      if (area) area.textContent = count ? percent(count, all) : "";
    }
  }

  /** @param {number} label */
  #row(label) {
    const template = /** @type {HTMLTemplateElement} */ ($("object-row"));
    const row = /** @type {HTMLElement | null} */ (/** @type {DocumentFragment} */ (template.content.cloneNode(true)).querySelector(".row"));
    if (!row) throw new Error("the page has no row of an object");
    const part = (/** @type {string} */ name) => /** @type {HTMLInputElement} */ (row.querySelector(`.${name}`));
    const [pick, name, colour, show, lock, remove] = ["pick", "name", "colour", "show", "lock", "delete"].map(part);
    const object = this.of(label), title = this.nameOf(label), isHidden = this.hidden.has(label);
    row.dataset.label = pick.textContent = String(label);
    pick.title = label < 10 ? `Draw ${title} (key ${label})` : `Draw ${title}`;
    pick.onclick = () => this.app.setLabel(label);
    name.value = object?.name ?? "";
    name.placeholder = `Object ${label}`;
    colour.value = `#${this.colourOf(label).map((one) => one.toString(16).padStart(2, "0")).join("")}`;
    const describe = (/** @type {number[] | null | undefined} */ own) => {
      const rgb = own ?? [1, 3, 5].map((at) => Number.parseInt(colour.value.slice(at, at + 2), 16));
      this.app.edit("describe", { label, name: name.value.trim().slice(0, 100), colour: rgb });
    };
    name.onchange = () => describe(this.#classes.get(name.value.trim()));
    colour.onchange = () => describe(null);
    name.onkeydown = (event) => { if (event.key === "Enter" || event.key === "Escape") name.blur(); };
    show.setAttribute("aria-pressed", String(!isHidden));
    show.title = `${isHidden ? "Show" : "Hide"} ${title}`;
    show.onclick = () => this.toggleShown(label);
    remove.title = `Delete ${title}; can be undone`;
    lock.setAttribute("aria-pressed", String(object?.locked ?? false));
    lock.title = object?.locked ? `Unlock ${title}` : `Lock ${title}: nothing changes it`;
    lock.onclick = () => this.toggleLocked(label);
    lock.disabled = !object;
    remove.disabled = object ? object.locked : this.#labels.length < 2;
    remove.onclick = () => this.delete(label);
    for (const one of [pick, name, colour, show, lock, remove]) one.setAttribute("aria-label", one.title || `${one.className} of object ${label}`);
    return row;
  }
}
