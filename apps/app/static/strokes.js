// The strokes of the image: those that the server knows, in its order, and those that it has not confirmed yet.

export class Strokes {
  constructor() { this.reset(); }

  reset() {
    this.known = new Map();   // key of the server -> stroke
    this.order = [];          // keys
    this.own = new Map();     // own number -> stroke
  }

  add(key, stroke) { this.known.set(key, stroke); }

  *all() {
    for (const key of this.order) if (this.known.has(key)) yield this.known.get(key);
    yield* this.own.values();
  }

  // Draw the strokes of a slice (axis -1: an image) on a context of its own, because erasing removes pixels.
  draw(context, view, ratio, colourOf, axis, index) {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    for (const stroke of this.all()) {
      if (stroke.axis === axis && stroke.index === index) drawStroke(context, view, ratio, stroke, colourOf);
    }
    context.globalCompositeOperation = "source-over";
  }
}

export function drawStroke(context, view, ratio, { points, radius, label, erase }, colourOf) {
  const { aspect } = view;
  view.applyRound(context, ratio);
  context.globalCompositeOperation = erase ? "destination-out" : "source-over";
  context.strokeStyle = erase ? "#000" : colourOf(label);
  // Erasing also removes the smooth edge of what is below.
  context.lineWidth = Math.max(1, 2 * radius) + (erase ? 2 / view.scale : 0);
  context.lineCap = context.lineJoin = "round";
  context.beginPath();
  context.moveTo(points[0], points[1] * aspect);
  for (let i = 2; i < points.length; i += 2) context.lineTo(points[i], points[i + 1] * aspect);
  if (points.length === 2) context.lineTo(points[0] + 0.001, points[1] * aspect);
  context.stroke();
}
