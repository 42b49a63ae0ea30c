// Elements of index.html, by their ids.

/**
 * @template {HTMLElement} E
 * @param {string} id
 * @param {new () => E} kind   the element's class
 */
function elementOf(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return found;
}

/** @param {string} id */
export const $ = (id) => elementOf(id, HTMLElement);
/** @param {string} id */
export const buttonOf = (id) => elementOf(id, HTMLButtonElement);
/** @param {string} id */
export const inputOf = (id) => elementOf(id, HTMLInputElement);
/** @param {string} id */
export const canvasOf = (id) => elementOf(id, HTMLCanvasElement);

/** The context of a canvas for drawing.  @param {HTMLCanvasElement} canvas */
export function context2d(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("the browser cannot draw on a canvas");
  return context;
}
