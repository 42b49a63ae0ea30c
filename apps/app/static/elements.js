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

/**
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
export function circle(x, y, radius) {
  const path = new Path2D();
  path.arc(x, y, radius, 0, 2 * Math.PI);
  return path;
}

/**
 * Draw a line above a wider or a continuous one of another colour, so that it is visible on any image.
 * @param {CanvasRenderingContext2D} context
 * @param {Path2D} path
 * @param {[number, string]} below   width and colour
 * @param {[number, string]} above
 * @param {number[]} dash            of the line above
 */
export function strokeTwice(context, path, below, above, dash = []) {
  for (const [width, colour] of [below, above]) {
    [context.lineWidth, context.strokeStyle] = [width, colour];
    context.setLineDash(colour === above[1] ? dash : []);
    context.stroke(path);
  }
  context.setLineDash([]);
}

/** Press one button of a group. @param {HTMLElement[]} group @param {HTMLElement | undefined} chosen */
export function choose(group, chosen) { for (const button of group) button.setAttribute("aria-pressed", String(button === chosen)); }

/** @param {unknown} error */
export const reasonOf = (error) => (error instanceof Error ? error.message : String(error));
