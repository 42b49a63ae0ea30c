// The controls around the image: buttons, sliders, files that are chosen, dropped or pasted.

import { $, buttonOf, inputOf } from "./elements.js";
import { dismissHint } from "./panel.js";
import { openSample, sendMask, uploadAll } from "./uploads.js";

/** @import { App } from "./main.js" */

export const RADII = [1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100, 125, 160, 200];   // on the screen
export const DISPLAYS = ["both", "contour", "cutout"];
export const TOOLS = ["object", "background", "erase", "box", "select", "solid", "push"];

/** @param {string} value   without it the usual one */
export function setTolerance(value = inputOf("tolerance").defaultValue) { inputOf("tolerance").value = $("tolerance-value").textContent = value; }

/** @param {App} app */
export function bindControls(app) {
  for (const tool of TOOLS) $(`tool-${tool}`).onclick = () => app.setTool(tool);
  for (const display of DISPLAYS) $(`show-${display}`).onclick = () => app.setDisplay(display);
  for (const axis of [0, 1, 2]) $(`axis-${axis}`).onclick = () => app.slices.setAxis(axis);
  const chooser = inputOf("image-file"), choose = () => chooser.click();
  const buttons = {
    undo: () => app.edit("undo"), redo: () => app.edit("redo"), clear: () => app.edit("clear"), fit: () => app.fit(),
    "help-button": () => app.help(), previous: () => app.step(-1), next: () => app.step(1), "card-next": () => app.step(1),
    save: () => app.save(false), "save-next": () => app.save(true), open: choose, "open-more": choose, "card-open": choose,
    "card-here": () => app.open(app.item),
    sample: () => openSample(app), hint: dismissHint,
    look: () => app.look.toggle(),
    approve: () => app.save(true, "approve"), "export-approved": () => app.edit("export_approved"),
  };
  for (const [id, action] of Object.entries(buttons)) $(id).onclick = action;
  chooser.onchange = () => {
    uploadAll(app, [...chooser.files ?? []]);
    chooser.value = "";
  };
  const [mask, radius, strokes] = ["mask-file", "radius", "strokes-shown"].map(inputOf);
  const [slice, level, window] = ["slice", "level", "window"].map(inputOf);
  $("start-mask").onclick = () => mask.click();
  mask.onchange = () => {
    const file = mask.files?.[0];
    if (file) sendMask(app, file);
    mask.value = "";
  };
  radius.max = String(RADII.length - 1);
  radius.oninput = () => app.setRadius(Number(radius.value));
  $("brush").ontoggle = (event) => {   // a finger sees the size in the middle of the image
    const { view, tools } = app;
    tools.pointer = event.newState === "open" ? [view.screenWidth / 2, view.screenHeight / 2] : null;
    app.drawTop();
  };
  for (const name of ["opacity", "brighten"]) {
    const slider = inputOf(name), shown = $(`${name}-value`);
    slider.oninput = () => { shown.textContent = `${slider.value} %`; app.draw(); };
    shown.textContent = `${slider.value} %`;
  }
  const [wider, tolerance] = ["wider", "tolerance"].map(inputOf);
  let shown = 0, byKeys = false;   // when the last preview was asked for, if there is one; and whether keys move the slider
  const widen = (/** @type {boolean} */ final) => app.edit("wider", { label: app.label, step: Number(wider.value), final });
  wider.oninput = () => {
    if (!shown) app.pen.watch("wider");
    $("wider-value").textContent = wider.value;
    if (shown && performance.now() - shown < 60) return;
    shown = performance.now();
    widen(false);
  };
  const keep = () => {
    if (!shown) return;
    shown = 0;
    if (Number(wider.value)) { widen(true); app.pen.sayWider(); } else app.edit("drop_preview");
    wider.value = "0";
    $("wider-value").textContent = "wider";
  };
  // Each arrow key is a change of its own: only what follows them, or another focus, keeps the object.
  wider.onkeydown = ({ key }) => { byKeys = /^(Arrow|Page|Home|End)/.test(key); if (!byKeys) keep(); };
  wider.onpointerdown = () => { byKeys = false; };
  wider.onchange = () => { if (!byKeys) keep(); else if (shown) widen(false); };
  wider.onblur = keep;
  tolerance.oninput = () => setTolerance(tolerance.value);
  strokes.onchange = () => { app.strokesShown = strokes.checked; app.draw(); };
  slice.oninput = () => app.slices.set(Number(slice.value));
  level.oninput = window.oninput = () => {
    app.slices.setWindow(Number(level.value) / 1000, Number(window.value) / 1000);
  };
  const hasFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => { if (hasFile(event)) { event.preventDefault(); $("drop").hidden = false; } });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").hidden = true; });
  addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    $("drop").hidden = true;
    if (event.dataTransfer) uploadAll(app, [...event.dataTransfer.files]);
  });
  addEventListener("paste", (event) => { if (event.clipboardData?.files.length) uploadAll(app, [...event.clipboardData.files]); });
  $("stage").addEventListener("auxclick", (event) => event.preventDefault());
  app.setTool("object");
  app.setDisplay("both");
  app.setRadius(app.radiusStep);
}

/** @param {boolean} enabled   whether there is an image to work on */
export function enable(enabled) {
  for (const id of ["tools", "results", "work"]) $(id).toggleAttribute("disabled", !enabled);
  for (const id of ["undo", "redo"]) if (!enabled) buttonOf(id).disabled = true;
  $("fit").hidden = !enabled;
}
