// The controls beside the image: list of images, kinds of files and the facts of the cut.

import { $, buttonOf } from "./elements.js";

/** @import { Item, State } from "./socket.js" */

/** @type {Record<string, string>} */
const HINTS = {
  "mark the object": "Mark the object with the left button",
  "mark the background": "Now mark the background with the right button",
  "mark an object": "Now mark the object with the left button",
};
const DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** @param {Item[]} items @param {number} current @param {(item: number) => void} open */
export function showItems(items, current, open) {
  $("files").classList.toggle("single", items.length < 2);
  const rows = items.map(({ name, state }, item) => {
    const row = document.createElement("li"), opener = document.createElement("button");
    const mark = document.createElement("span"), text = document.createElement("span");
    mark.className = `mark ${state}`;
    mark.textContent = { done: "✓", started: "●", new: "" }[state] ?? "";
    mark.setAttribute("aria-label", { done: "saved", started: "started", new: "" }[state] ?? "");
    text.className = "name";
    text.textContent = opener.title = name;
    opener.append(mark, text);
    opener.setAttribute("aria-current", String(item === current));
    opener.onclick = () => open(item);
    row.append(opener);
    return row;
  });
  $("list").replaceChildren(...rows);
  rows[current]?.scrollIntoView({ block: "nearest" });
  const done = items.filter(({ state }) => state === "done").length;
  $("progress").textContent = `${done} of ${items.length} saved`;
  buttonOf("previous").disabled = current <= 0;
  buttonOf("next").disabled = current >= items.length - 1;
}

/** @param {[string, string][]} kinds @param {Set<string>} chosen */
export function showKinds(kinds, chosen) {
  $("kinds").replaceChildren(...kinds.map(([kind, shown]) => {
    const label = document.createElement("label"), box = document.createElement("input");
    Object.assign(box, { type: "checkbox", value: kind, checked: chosen.has(kind) });
    box.onchange = () => (box.checked ? chosen.add(kind) : chosen.delete(kind));
    label.className = "check";
    label.append(box, shown);
    return label;
  }));
}

/** @param {State} state */
export function showState(state) {
  buttonOf("undo").disabled = !state.undo;
  buttonOf("redo").disabled = !state.redo;
  buttonOf("clear").disabled = !state.order.length && !state.box && !state.masks;
  const { energy } = state, solved = energy !== null;
  $("energy").textContent = solved ? `${DIGITS.format(energy)} nats` : "–";
  $("seconds").textContent = state.pending ? "solving…" : solved ? `${(1000 * state.seconds).toFixed(0)} ms` : "–";
  const certificate = $("certificate");
  certificate.textContent = !solved ? "–" : state.certified ? "exact, verified" : state.exact ? "exact" : "preview";
  certificate.className = !solved ? "" : state.certified || state.exact ? "good" : "warn";
  hint(HINTS[state.message] ?? state.message);
}

let timer = 0;

/**
 * An error stays for some seconds, whatever else is to be said.
 * @param {string} text
 * @param {boolean} error
 */
export function hint(text, error = false) {
  if (timer && !error) return;
  clearTimeout(timer);
  $("hint").textContent = text;
  $("hint").classList.toggle("error", error);
  timer = error ? setTimeout(() => { timer = 0; hint(""); }, 6000) : 0;
}
