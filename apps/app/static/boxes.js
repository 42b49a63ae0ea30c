// The box around the chosen object: between its form in the image or slice shown, x0, y0, x1, y1, and that of the session, which
// in a volume is x0, y0, z0, x1, y1, z1.

/** @import { App } from "./main.js" */
/** @import { Rectangle } from "./tools.js" */

/**
 * The box of the session that a drawn rectangle means; null if it is too small.  A box in a slice keeps the extent of an
 * earlier box along the other axis, or has that of the volume.
 * @param {App} app
 * @param {Rectangle} drawn
 */
export function boxOf({ view, slices, info, box: earlier }, drawn) {
  const sides = [view.width, view.height, view.width, view.height];
  const [x0, y0, x1, y1] = drawn.map((value, side) => Math.max(0, Math.min(sides[side], Math.round(value))));
  if (x1 - x0 < 2 || y1 - y0 < 2) return null;
  if (slices.axis < 0) return [x0, y0, x1, y1];
  const sizes = [...info?.shape ?? []].toReversed(), box = [...earlier ?? [0, 0, 0, ...sizes]];
  const [across, down] = [0, 1, 2].filter((place) => place !== 2 - slices.axis);
  [box[across], box[across + 3], box[down], box[down + 3]] = [x0, x1, y0, y1];
  return box;
}

/**
 * The session's box in the image shown; in a volume, where it cuts the slice.
 * @param {App} app
 * @returns {Rectangle | null}
 */
export function shownBox({ slices, box }) {
  if (!box) return null;
  if (slices.axis < 0) return [box[0], box[1], box[2], box[3]];
  const own = 2 - slices.axis, [across, down] = [0, 1, 2].filter((place) => place !== own);
  if (slices.index < box[own] || slices.index >= box[own + 3]) return null;
  return [box[across], box[down], box[across + 3], box[down + 3]];
}
