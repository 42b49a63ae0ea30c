// The keyboard.  Keys work wherever the focus is, except in fields and on the controls that use them themselves.

import { $ } from "./elements.js";

/** @import { App } from "./main.js" */

/** @type {Record<string, [number, number]>} */
const ARROWS = { arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, -1], arrowdown: [0, 1] };

/** @param {App} host */
export function bindKeys(host) {
  /** @type {Record<string, (event: KeyboardEvent) => void>} */
  const plain = {
    d: () => host.setTool("object"), b: () => host.setTool("background"),
    x: () => host.setTool(host.tool === "erase" ? "object" : "erase"), r: () => host.setTool("box"),
    q: () => host.setTool("select"), p: () => host.setTool("solid"), e: () => host.setTool("push"),
    "[": () => host.setRadius(host.radiusStep - 1), "]": () => host.setRadius(host.radiusStep + 1),
    f: () => host.fit(), 0: () => host.fit(),
    "+": () => host.zoomBy(1.25), "=": () => host.zoomBy(1.25), "-": () => host.zoomBy(0.8),
    v: () => host.nextDisplay(), s: () => $("strokes-shown").click(),
    n: (event) => host.step(event.shiftKey ? -1 : 1), a: () => host.slices.nextAxis(),
    o: () => host.objects.create(), l: () => host.objects.toggleLocked(host.label), k: () => host.objects.cleanUp(host.label),
    u: () => host.look.toggle(), y: () => host.save(true, "approve"), t: () => host.takeRival(),
    ",": () => host.objects.step(-1), ".": () => host.objects.step(1),
    arrowup: () => host.slices.move(1), arrowdown: () => host.slices.move(-1),
    pageup: () => host.slices.move(10), pagedown: () => host.slices.move(-10),
    enter: () => host.save(true), escape: () => host.cancel(), "?": () => host.help(),
  };
  for (let label = 1; label <= 9; label++) plain[label] = () => host.setLabel(label);
  /** @type {Record<string, (event: KeyboardEvent) => void>} */
  const control = {
    z: (event) => (event.shiftKey ? host.edit("redo") : host.edit("undo")), y: () => host.edit("redo"), s: () => host.save(false),
    delete: () => host.edit("clear"), backspace: () => host.edit("clear"),
  };

  addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : document.body, key = event.key.toLowerCase();
    if (document.querySelector("dialog[open]") || target.matches("input[type=text]")) return;
    if (event.ctrlKey || event.metaKey) {
      if (!event.altKey && control[key]) { event.preventDefault(); control[key](event); }
      return;
    }
    if (event.altKey) return;
    const ofSlider = target.matches("input[type=range]") && /^(arrow|page)/.test(key);
    const ofButton = target.matches("button, input[type=checkbox]") && (key === "enter" || key === " ");
    if (ofSlider || ofButton) return;
    // In a volume, arrow keys change the slice, unless the keyboard has moved the focus to the image.
    const ofImage = host.axis < 0 || (target.id === "top" && !document.body.classList.contains("pointing"));
    if (ARROWS[key] && ofImage) {
      event.preventDefault();
      host.tools.moveCross(...ARROWS[key], event.shiftKey);
      return;
    }
    if (key === " " && host.tools.cross) {
      event.preventDefault();
      if (!event.repeat) host.tools.pressCross();
      return;
    }
    if (key === " ") { event.preventDefault(); host.tools.setSpace(true); return; }
    if (key === "h") { host.setAlone(true); return; }
    if (!plain[key] || (event.repeat && key === "enter")) return;
    if (key !== "escape") event.preventDefault();   // which also closes an open panel
    plain[key](event);
  });
  addEventListener("keyup", (event) => {
    if (event.key === " ") { host.tools.setSpace(false); host.tools.releaseCross(); }
    if (event.key.toLowerCase() === "h") host.setAlone(false);
  });
  addEventListener("blur", () => { host.tools.setSpace(false); host.setAlone(false); host.tools.releaseCross(); });
}
