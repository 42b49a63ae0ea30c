// In a narrow window the list of images is a sheet and the panel a drawer, of which at most one is open.

import { $ } from "./elements.js";

const DRAWERS = ["files", "panel"];

/** @param {string} name   of the drawer to open, or "" */
function show(name) {
  document.body.dataset.drawer = name;
  for (const one of DRAWERS) $(`${one}-button`).setAttribute("aria-expanded", String(one === name));
}

/** Close the open drawer; false if none is open. */
export function closeDrawer() {
  const name = document.body.dataset.drawer;
  if (!name) return false;
  show("");
  $(`${name}-button`).focus();
  return true;
}

export function bindDrawers() {
  for (const name of DRAWERS) {
    $(`${name}-button`).onclick = () => {
      if (document.body.dataset.drawer === name) closeDrawer();
      else {
        show(name);
        for (const one of /** @type {NodeListOf<HTMLElement>} */ ($(name).querySelectorAll("button, input"))) {
          one.focus();
          if (document.activeElement === one) break;
        }
      }
    };
  }
  $("stage").addEventListener("pointerdown", (event) => { if (closeDrawer()) event.stopPropagation(); }, true);
}
