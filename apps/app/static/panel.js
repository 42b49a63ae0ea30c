// What the page says: list of images, kinds of files, the facts of the cut, hints, and the card of an image that is not shown.

import { $, buttonOf } from "./elements.js";

/** @import { Item, State } from "./socket.js" */

export const RIVAL = "another object fits the box";
/** @type {Record<string, [string, string]>} */
const HINTS = {   // for a mouse, and for a finger
  "mark the object": ["Mark the object with the left button, or press R and drag a box around it", "Draw on the object, or tap Box and drag a box around it"],
  "mark the background": ["Now mark the background with the right button", "Now tap Background, and draw around the object"],
  "save or correct": ["If the outline fits, save. Otherwise paint more of the object, or the background with the right button",
    "If the outline fits, tap Save. Otherwise draw what is missing, or tap Background and draw what is too much"],
  "mark an object": ["Now mark the object with the left button", "Now tap Object, and draw on it"],
  box: ["Drag a box around the whole object: it is found inside", "Drag a box around the whole object: it is found inside"],
  select: ["Press inside, or drag: it grows to the edges. Shift and sideways: tolerance. Right button, or Q again: take it away. Strokes drawn later change only what they cover",
    "Drag inside: it grows to the edges. Tap Select again to take away. Strokes drawn later change only what they cover"],
  solid: ["Exactly these pixels, which nothing drawn later changes. Right button, or P again: take them away",
    "Exactly these pixels, which nothing drawn later changes. Tap Solid again to take away"],
  push: ["Drag the disc across the outline: inside the disc it is cut again, and nothing else changes",
    "Drag across the outline: below your finger it is cut again, and nothing else changes"],
  taking: ["This takes away; the same key again adds", "This takes away; tap again to add"],
  [RIVAL]: ["Another object fits the box as well: T shows it", "Another object fits the box as well: draw on what is missing or too much"],
};
const MARKS = { done: ["✓", "saved, to review"], approved: ["★", "approved"], started: ["●", "started"], unreadable: ["⚠", "cannot be opened"], new: ["", ""] };
const DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** @param {Item[]} items @param {number} current @param {(item: number) => void} open */
export function showItems(items, current, open) {
  $("files").classList.toggle("single", items.length < 2);
  $("files-button").hidden = !items.length;
  const rows = items.map(({ name, state }, item) => {
    const row = document.createElement("li"), opener = document.createElement("button");
    const mark = document.createElement("span"), text = document.createElement("span"), [sign, meaning] = MARKS[state];
    mark.className = `mark ${state}`;
    mark.textContent = sign;
    if (meaning) { mark.setAttribute("role", "img"); mark.setAttribute("aria-label", meaning); }
    text.className = "name";
    text.textContent = name;
    opener.title = meaning ? `${name} (${meaning})` : name;
    opener.append(mark, text);
    opener.setAttribute("aria-current", String(item === current));
    opener.onclick = () => open(item);
    row.append(opener);
    return row;
  });
  $("list").replaceChildren(...rows);
  rows[current]?.scrollIntoView({ block: "nearest" });
  const approved = items.filter(({ state }) => state === "approved").length;
  const done = approved + items.filter(({ state }) => state === "done").length;
  $("progress").textContent = `${done} of ${items.length} saved ✓, ${approved ? `${approved} approved ★, ` : ""}● started`;
  $("export-approved").hidden = !approved;
  buttonOf("previous").disabled = current <= 0;
  buttonOf("next").disabled = $("save-next").hidden = current >= items.length - 1;
}

/** @param {[string, string][]} kinds @param {Set<string>} chosen */
export function showKinds(kinds, chosen) {
  const choice = (/** @type {[string, string]} */ [kind, shown]) => {
    const label = document.createElement("label"), box = document.createElement("input");
    Object.assign(box, { type: "checkbox", value: kind, checked: chosen.has(kind) });
    box.onchange = () => (box.checked ? chosen.add(kind) : chosen.delete(kind));
    label.className = "check";
    label.append(box, shown);
    return label;
  };
  $("kinds").replaceChildren(...kinds.map(choice));
}

/**
 * @param {State} state
 * @param {number} compiled   kernels, while some are compiled
 */
export function showState(state, compiled) {
  buttonOf("undo").disabled = !state.undo;
  buttonOf("redo").disabled = !state.redo;
  const { energy, pending } = state, isSolved = energy !== null, isExact = state.certified || state.exact;
  const certificate = $("certificate");
  certificate.textContent = pending ? "working…" : !isSolved ? "" : isExact ? "final ✓" : "preview";
  certificate.className = isSolved && !pending ? (isExact ? "good" : "warn") : "";
  showStatus();
  $("status").title = isSolved
    ? `${state.certified ? "Verified: no other cut has less energy for these strokes" : "Energy"}, ${DIGITS.format(energy)} nats; the last update took ${(1000 * state.seconds).toFixed(0)} ms` : "";
  // An object without a background may be right already; a notebook has no button that saves it.
  const isFound = isSolved && state.message === "mark the background" && $("results").offsetParent;
  const message = isFound ? "save or correct" : state.message;
  const working = compiled ? `Getting ready, first time only: step ${compiled}. You can draw already` : pending ? "Working…" : "";
  hint(!isSolved && working ? working : said(message));
}

/** @param {number} pixels @param {number} all */
export const percent = (pixels, all) => `${(100 * pixels / all).toFixed(pixels && pixels < 0.001 * all ? 2 : 1)} %`;

/**
 * How much of the image or slice the objects cover.
 * @param {Map<number, number>} counts   pixels of each label that is shown
 * @param {number} all
 */
export function showAreas(counts, all) {
  const areas = [...counts].filter(([label, count]) => label && count).map(([, count]) => count);
  const text = percent(areas.reduce((sum, count) => sum + count, 0), all);
  $("areas").textContent = areas.length ? (areas.length === 1 ? `Object ${text}` : `${areas.length} objects ${text}`) : "";
  showStatus();
}

/** The line has no parts while nothing is drawn. */
export function showStatus() { $("status").hidden = !["areas", "certificate", "pointer"].some((id) => $(id).textContent); }

/** @param {boolean} isSaving */
export function showSaving(isSaving) {
  $("save").textContent = isSaving ? "Saving…" : "Save";
  if (isSaving) $("saved").textContent = "";
}

/**
 * A card in place of the image; "" for none.
 * @param {"" | "empty" | "opening" | "unreadable" | "taken"} kind
 */
export function showCard(kind, title = "", text = "") {
  $("card").hidden = !kind;
  $("card").className = kind;
  $("card-title").textContent = title;
  $("card-text").textContent = text;
  $("card-open").hidden = kind === "opening" || kind === "taken";
  $("card-here").hidden = kind !== "taken";
  $("card-next").hidden = kind !== "unreadable" || buttonOf("next").disabled;
  $("sample").hidden = kind !== "empty";
}

let timer = 0, lasting = "";
/** @type {Set<string>} */
const dismissed = new Set();   // lasting hints that are not shown again

/**
 * News stays for some seconds, before what is to be said otherwise.
 * @param {string} text
 * @param {"" | "error" | "news"} kind
 */
export function hint(text, kind = "") {
  if (!kind) lasting = text;
  if (timer && !kind) return;
  clearTimeout(timer);
  $("hint").textContent = !kind && dismissed.has(text) ? "" : text;
  $("hint").className = kind;
  timer = kind ? setTimeout(() => { timer = 0; hint(lasting); }, 6000) : 0;
}

/** Take away an error, as something else is tried. */
export function forgetError() {
  if ($("hint").className !== "error") return;
  clearTimeout(timer);
  timer = 0;
  hint(lasting);
}

/** @param {string} message */
const said = (message) => (HINTS[message] ?? [message, message])[matchMedia("(pointer: coarse)").matches ? 1 : 0];
let told = "";   // of the tool

/**
 * Say how a tool is used whose name does not, until another one is chosen.
 * @param {string} tool
 */
export function sayTool(tool) {
  if (HINTS[tool]) hint(told = said(tool), "news");
  else if (told && $("hint").textContent === told) dismissHint();
}

/** Take away the hint that is shown. */
export function dismissHint() {
  if (!timer) dismissed.add(lasting);
  clearTimeout(timer);
  timer = 0;
  hint(lasting);
}
