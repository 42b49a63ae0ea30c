// The controls beside the image: list of images, labels, sliders, export and the facts of the cut.

import { choose } from "./keys.js";

const $ = (id) => document.getElementById(id);
const HINTS = {
  "mark the object": "Mark the object with the left button",
  "mark the background": "Now mark the background with the right button",
  "mark an object": "Now mark the object with the left button",
};
const DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

export function showItems(items, current, open) {
  $("files").classList.toggle("single", items.length < 2);
  const rows = items.map(({ name, state }, item) => {
    const row = document.createElement("li"), button = document.createElement("button");
    const mark = document.createElement("span"), text = document.createElement("span");
    mark.className = `mark ${state}`;
    mark.textContent = { done: "✓", started: "●", new: "" }[state] ?? "";
    mark.setAttribute("aria-label", { done: "saved", started: "started", new: "" }[state] ?? "");
    text.className = "name";
    text.textContent = button.title = name;
    button.append(mark, text);
    button.setAttribute("aria-current", String(item === current));
    button.onclick = () => open(item);
    row.append(button);
    return row;
  });
  $("list").replaceChildren(...rows);
  rows[current]?.scrollIntoView({ block: "nearest" });
  const done = items.filter(({ state }) => state === "done").length;
  $("progress").textContent = `${done} of ${items.length} saved`;
  $("previous").disabled = current <= 0;
  $("next").disabled = current >= items.length - 1;
}

export function showLabels(colours, chosen, pick) {
  const buttons = [...colours].filter(([label]) => label > 0).map(([label, rgb]) => {
    const button = document.createElement("button"), swatch = document.createElement("i");
    swatch.style.background = `rgb(${rgb.join(" ")})`;
    button.append(swatch, String(label));
    button.setAttribute("role", "radio");
    button.setAttribute("aria-label", `Label ${label}`);
    button.title = label < 10 ? `Label ${label} (key ${label})` : `Label ${label}`;
    button.dataset.label = label;
    button.onclick = () => pick(label);
    return button;
  });
  $("labels").replaceChildren(...buttons);
  chooseLabel(chosen);
}

export function chooseLabel(label) {
  const buttons = [...$("labels").children];
  choose(buttons, buttons.find((button) => Number(button.dataset.label) === label));
}

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

export function showState(state) {
  $("undo").disabled = !state.undo;
  $("redo").disabled = !state.redo;
  $("clear").disabled = !state.order.length && !state.box && !state.start;
  const solved = state.energy !== null && state.energy !== undefined;
  $("energy").textContent = solved ? `${DIGITS.format(state.energy)} nats` : "–";
  $("seconds").textContent = state.pending ? "solving…" : solved ? `${(1000 * state.seconds).toFixed(0)} ms` : "–";
  const certificate = $("certificate");
  certificate.textContent = !solved ? "–" : state.certified ? "exact, verified" : state.exact ? "exact" : "preview";
  certificate.className = !solved ? "" : state.certified || state.exact ? "good" : "warn";
  hint(HINTS[state.message] ?? state.message ?? "");
}

let timer = 0;

// An error stays for some seconds, whatever else is to be said.
export function hint(text, error = false) {
  if (timer && !error) return;
  clearTimeout(timer);
  $("hint").textContent = text;
  $("hint").classList.toggle("error", error);
  timer = error ? setTimeout(() => { timer = 0; hint(""); }, 6000) : 0;
}
