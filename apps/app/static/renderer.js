// Drawing: the scene (image, labels, strokes) and, above it, what follows the pointer (cursor, stroke, box).

import { $, canvasOf, circle, context2d, inputOf, strokeTwice } from "./elements.js";
import { showStatus } from "./panel.js";
import { drawStroke } from "./strokes.js";

/** @import { App } from "./main.js" */
/** @import { Rectangle } from "./tools.js" */

const CROSS = 14;       // CSS pixels of an arm of the cross-hair

export class Renderer {
  #frame = 0; #topFrame = 0;
  strokesStale = true;

  scene = context2d(canvasOf("scene"));
  top = context2d(canvasOf("top"));
  layer = context2d(canvasOf("strokes"));
  cutout = context2d(document.createElement("canvas"));    // also a scratch area

  /** @param {App} app */
  constructor(app) { this.app = app; }

  /** Device pixels per CSS pixel. */
  get ratio() { return Math.max(1, Math.min(3, devicePixelRatio || 1)); }

  colourOf = (/** @type {number} */ label) => (label ? `rgb(${this.app.objects.colourOf(label).join(" ")})` : this.app.objects.backgroundColour);

  resize() {
    const { clientWidth: width, clientHeight: height } = $("stage");
    for (const canvas of [this.scene.canvas, this.top.canvas, this.layer.canvas, this.cutout.canvas]) {
      [canvas.width, canvas.height] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
    }
    this.app.view.setScreen(width, height);
  }

  draw() { this.#frame ||= requestAnimationFrame(() => { this.#frame = 0; this.#drawScene(); }); }
  drawTop() { this.#topFrame ||= requestAnimationFrame(() => { this.#topFrame = 0; this.#drawTop(); }); }

  #drawScene() {
    const { scene, ratio } = this, { view, image, mask, display } = this.app, { canvas } = scene;
    scene.setTransform(1, 0, 0, 1, 0, 0);
    scene.globalAlpha = 1;
    scene.clearRect(0, 0, canvas.width, canvas.height);   // the stage, whose colour may change, is visible around the image
    this.layer.canvas.hidden = !this.app.ready || this.app.alone || !this.app.strokesShown || display === "cutout";
    if (!this.app.ready || !image.source) return;
    if (display === "cutout" && !this.app.alone) this.#drawCutout();
    else this.#drawImage(scene);
    if (this.app.alone) return;
    if (display === "both") this.#drawOverlay();
    if (this.app.look.isOn) {
      view.apply(scene, ratio);
      scene.globalAlpha = 0.6;
      scene.imageSmoothingEnabled = false;
      scene.drawImage(this.app.look.mask.canvas, 0, 0);
      scene.globalAlpha = 1;
    }
    if (display !== "cutout") mask.drawContours(scene, view, ratio, (label) => this.app.objects.lineColourOf(label));
    if (this.strokesStale) this.app.strokes.draw(this.layer, view, ratio, this.colourOf, ...this.app.slice, this.app.objects.hidden);
    this.strokesStale = false;
  }

  // As in the command's figures: one object in its colours before a dimmed background, several tinted.
  #drawOverlay() {
    const { scene, cutout: rest, ratio } = this, { view, mask, objects } = this.app;
    const strength = Number(inputOf("opacity").value) / 100;
    const isSmooth = view.scale * ratio < 1;
    if (objects.areSeveral) {
      view.apply(scene, ratio);
      scene.globalAlpha = strength;
      scene.imageSmoothingEnabled = isSmooth;
      scene.drawImage(mask.canvas, 0, 0);
    } else if (mask.hasObjects) {
      view.apply(rest, ratio);
      rest.globalCompositeOperation = "copy";
      rest.fillStyle = "#000";
      rest.fillRect(0, 0, view.width, view.height);
      rest.globalCompositeOperation = "destination-out";
      rest.imageSmoothingEnabled = isSmooth;
      rest.drawImage(mask.canvas, 0, 0);
      scene.setTransform(1, 0, 0, 1, 0, 0);
      scene.globalCompositeOperation = "saturation";
      scene.globalAlpha = 0.5;
      scene.drawImage(rest.canvas, 0, 0);
      scene.globalCompositeOperation = "source-over";
      scene.globalAlpha = strength;
      scene.drawImage(rest.canvas, 0, 0);
    }
    scene.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} context */
  #drawImage(context) {
    const { view, image } = this.app, scale = view.scale * this.ratio;
    view.apply(context, this.ratio);
    context.imageSmoothingEnabled = scale < 2;
    context.imageSmoothingQuality = scale < 0.5 ? "medium" : "low";
    if (image.source) context.drawImage(image.source, 0, 0);
    const gain = this.app.axis < 0 ? Number(inputOf("brighten").value) : 0;
    if (!gain) return;
    const operation = context.globalCompositeOperation;
    context.globalCompositeOperation = "color-dodge";   // divides by what the grey leaves to white
    context.fillStyle = `rgb(${gain}% ${gain}% ${gain}%)`;
    context.fillRect(0, 0, view.width, view.height);
    context.globalCompositeOperation = operation;
  }

  #drawCutout() {
    const { cutout, scene } = this;
    cutout.setTransform(1, 0, 0, 1, 0, 0);
    cutout.globalCompositeOperation = "copy";
    this.#drawImage(cutout);
    cutout.globalCompositeOperation = "destination-in";
    cutout.imageSmoothingEnabled = false;
    cutout.drawImage(this.app.mask.canvas, 0, 0);
    cutout.globalCompositeOperation = "source-over";
    scene.setTransform(1, 0, 0, 1, 0, 0);
    scene.drawImage(cutout.canvas, 0, 0);
  }

  #drawTop() {
    const { top, ratio } = this, { view, tools } = this.app;
    top.setTransform(1, 0, 0, 1, 0, 0);
    top.globalAlpha = 1;
    top.clearRect(0, 0, top.canvas.width, top.canvas.height);
    if (!this.app.ready || this.app.alone) return;
    if (tools.stroke) {
      const shown = /** @type {const} */ ({ ...tools.stroke, do: "stroke" });
      top.globalAlpha = 0.5;
      drawStroke(top, view, ratio, shown, tools.stroke.taken || tools.stroke.do === "erase" ? () => "rgb(40 40 40)" : this.colourOf);
      top.globalAlpha = 1;
    }
    this.#drawSides();
    const box = tools.box ?? (this.app.display === "cutout" ? null : this.app.shownBox);
    if (box) this.#drawBox(box);
    this.app.look.drawRing(top, ratio);
    if (tools.pointer) this.#drawCursor(...tools.pointer);
    if (tools.cross) this.#drawCross(...view.toScreen(...tools.cross));
    this.#showPointer();
  }

  /** @param {Rectangle} box */
  #drawBox([x0, y0, x1, y1]) {
    const { top, ratio } = this, { view } = this.app;
    view.apply(top, ratio);
    const path = new Path2D();
    path.rect(x0, y0, x1 - x0, y1 - y0);
    strokeTwice(top, path, [1.5 / view.scale, "#000"], [1.5 / view.scale, "#fff"], [5 / view.scale, 4 / view.scale]);
  }

  /** @param {number} x @param {number} y */
  #drawCursor(x, y) {
    const { app, top, ratio } = this, radius = Math.max(1.5, app.radius * app.view.scale);
    if (app.tools.space || app.tool === "box") return;
    top.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colour = app.tool === "erase" || app.isTaking ? "#ffcf5c" : this.colourOf(app.tool === "background" ? 0 : app.label);
    strokeTwice(top, circle(x, y, radius), [3.5, "rgb(0 0 0 / 0.7)"], [1.5, "#fff"]);
    top.fillStyle = colour;
    top.fill(circle(x, y, 2));
  }

  /** @param {number} x @param {number} y */
  #drawCross(x, y) {
    const { top, ratio, app } = this, gap = 4, arm = gap + CROSS + app.radius * app.view.scale;
    top.setTransform(ratio, 0, 0, ratio, 0, 0);
    const path = new Path2D();
    for (const [dx, dy] of [[-1, 0], [1, 0], [0, -1], [0, 1]]) {
      path.moveTo(x + gap * dx, y + gap * dy);
      path.lineTo(x + arm * dx, y + arm * dy);
    }
    strokeTwice(top, path, [4, "#000"], [2, "#fff"]);
  }

  #showPointer() {
    const { pixel, info, slices } = this.app;
    let text = pixel ? pixel.join(", ") : "";
    if (pixel && info?.world) {
      const voxel = slices.voxelAt(...pixel), place = info.world.map((row) => [...voxel, 1].reduce((sum, value, i) => sum + value * row[i], 0));
      text = `${voxel.toReversed().join(", ")} · ${place.map((value) => value.toFixed(1)).join(", ")} ${info.unit}`;
    }
    $("pointer").textContent = text;
    showStatus();
  }

  /** Letters at the sides of a slice. */
  #drawSides() {
    const { app: { view, info, slices }, top, ratio } = this, { letters } = info ?? {}, [down, across] = slices.sides;
    if (slices.axis < 0 || !letters) return;
    const [[left, up], [right, low]] = [view.toScreen(0, 0), view.toScreen(view.width, view.height)];
    top.setTransform(ratio, 0, 0, ratio, 0, 0);
    const within = (/** @type {number} */ value, /** @type {number} */ size) => Math.max(14, Math.min(size - 14, value));
    const [x0, x1] = [left - 14, right + 14].map((x) => within(x, view.screenWidth));
    const [y0, y1] = [up - 14, low + 14].map((y) => within(y, view.screenHeight));
    const [x, y] = [within((left + right) / 2, view.screenWidth), within((up + low) / 2, view.screenHeight)];
    top.font = "600 14px system-ui, sans-serif";
    [top.textAlign, top.textBaseline, top.lineWidth] = ["center", "middle", 3];
    [top.strokeStyle, top.fillStyle] = ["#000", "#ffcf5c"];
    const [[first, last], [start, end]] = [letters[across], letters[down]];
    for (const [letter, at, height] of /** @type {[string, number, number][]} */ ([[first, x0, y], [last, x1, y], [start, x, y0], [end, x, y1]])) {
      top.strokeText(letter, at, height);
      top.fillText(letter, at, height);
    }
  }
}
