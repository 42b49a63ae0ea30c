// Where the image is on the screen, in CSS pixels:
//
//     screen x = offset + scale * x,  screen y = offset + scale * aspect * y
//
// Pixel (i, j) of the image covers [i, i + 1) x [j, j + 1).  `aspect` is the height of a voxel in a slice, in widths.

const MIN_SCALE = 0.02, MAX_SCALE = 64;

export class View {
  width = 1; height = 1; aspect = 1;   // of the image
  screenWidth = 1; screenHeight = 1;
  scale = 1; x = 0; y = 0; fitted = true;

  /** @param {number} width @param {number} height */
  setImage(width, height, aspect = 1) {
    Object.assign(this, { width, height, aspect });
    this.fit();
  }

  /** @param {number} width @param {number} height */
  setScreen(width, height) {
    const [dx, dy] = [(width - this.screenWidth) / 2, (height - this.screenHeight) / 2];
    Object.assign(this, { screenWidth: width, screenHeight: height });
    if (this.fitted) this.fit(); else this.pan(dx, dy);
  }

  fit() {
    const [w, h] = [this.width, this.height * this.aspect];
    this.scale = Math.min(MAX_SCALE, 0.96 * Math.min(this.screenWidth / w, this.screenHeight / h));
    this.x = (this.screenWidth - this.scale * w) / 2;
    this.y = (this.screenHeight - this.scale * h) / 2;
    this.fitted = true;
  }

  /** @param {number} dx @param {number} dy */
  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.#keepInSight();
  }

  /** @param {number} factor @param {number} x @param {number} y */
  zoom(factor, x, y) {
    const scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, this.scale * factor)), ratio = scale / this.scale;
    this.x = x - (x - this.x) * ratio;
    this.y = y - (y - this.y) * ratio;
    this.scale = scale;
    this.fitted = false;
    this.#keepInSight();
  }

  // At least a part of the image stays on the screen.
  #keepInSight() {
    const margin = 40, [w, h] = [this.scale * this.width, this.scale * this.height * this.aspect];
    this.x = Math.min(this.screenWidth - margin, Math.max(margin - w, this.x));
    this.y = Math.min(this.screenHeight - margin, Math.max(margin - h, this.y));
    this.fitted = false;
  }

  /** @param {number} x @param {number} y @returns {[number, number]} */
  toImage(x, y) {
    return [(x - this.x) / this.scale, (y - this.y) / (this.scale * this.aspect)];
  }

  /** @param {number} x @param {number} y @returns {[number, number]} */
  toScreen(x, y) {
    return [this.x + this.scale * x, this.y + this.scale * this.aspect * y];
  }

  /**
   * Move a place of the image into sight; false if it is.
   * @param {number} x
   * @param {number} y
   */
  reveal(x, y) {
    const [sx, sy] = this.toScreen(x, y), margin = 30;
    const beyond = (/** @type {number} */ value, /** @type {number} */ size) => Math.min(0, size - margin - value) + Math.max(0, margin - value);
    const [dx, dy] = [beyond(sx, this.screenWidth), beyond(sy, this.screenHeight)];
    if (!this.fitted && (dx || dy)) this.pan(dx, dy);
    return !this.fitted && Boolean(dx || dy);
  }

  /**
   * Let a context, of `ratio` device pixels per CSS pixel, draw in image coordinates; with an aspect of 1, round brushes.
   * @param {CanvasRenderingContext2D} context
   * @param {number} ratio
   */
  apply(context, ratio, aspect = this.aspect) {
    const scale = ratio * this.scale;
    context.setTransform(scale, 0, 0, scale * aspect, ratio * this.x, ratio * this.y);
  }
}
