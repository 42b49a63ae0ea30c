// Connection to the server: binary strokes up, run lengths of masks down, small JSON messages both ways.
// apps/app/messages.py describes the formats.

const STROKE = 1, MASK = 2;
const HEADER = 28;
const FINAL = 1, ERASE = 2, AGAIN = 4;

const REFUSED = 1008;

// Why this server does not answer the page, such as another token after a restart; empty if no server answers.
async function refusal() {
  try {
    const answer = await fetch(document.baseURI, { signal: AbortSignal.timeout(5000) });
    return answer.status === 403 ? await answer.text() : "";
  } catch { return ""; }
}

export class Connection extends EventTarget {
  #socket = null;
  #waiting = new Map();   // strokes that the server has not confirmed, by number; sent again after a lost connection
  #delay = 250;           // milliseconds to the next attempt

  constructor(address) {
    super();
    this.address = address;
    this.#open();
  }

  get open() { return this.#socket?.readyState === WebSocket.OPEN; }

  #open() {
    const socket = this.#socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { this.#delay = 250; this.#tell("open"); };
    socket.onmessage = ({ data }) => (typeof data === "string" ? this.#text(JSON.parse(data)) : this.#binary(data));
    socket.onclose = async ({ code, reason }) => {
      this.#tell("closed");
      const text = code === REFUSED ? reason : await refusal();
      if (text) {
        this.#tell("refused", { text });
        return;
      }
      setTimeout(() => this.#open(), this.#delay);
      this.#delay = Math.min(5000, 2 * this.#delay);
    };
  }

  #tell(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  #text(message) {
    if (message.number !== undefined) this.#waiting.delete(message.number);   // confirmed, or refused
    this.#tell(message.type, message);
  }

  // After the server has said which document is open.
  sendAgain(item) {
    for (const data of this.#waiting.values()) {
      const view = new DataView(data);
      if (!this.open || view.getUint32(4, true) !== item) continue;
      view.setUint8(1, view.getUint8(1) | AGAIN);
      this.#socket.send(data);
    }
  }

  send(message) {
    if (this.open) this.#socket.send(JSON.stringify(message));
    return this.open;
  }

  // points: Float32Array of x, y in pixels; pixel (i, j) covers [i, i + 1) x [j, j + 1).
  stroke(item, number, { points, radius, label, erase, axis, index }, final) {
    const data = new ArrayBuffer(HEADER + points.byteLength), view = new DataView(data);
    view.setUint8(0, STROKE);
    view.setUint8(1, (final ? FINAL : 0) | (erase ? ERASE : 0));
    view.setUint16(2, label, true);
    view.setUint32(4, item, true);
    view.setUint32(8, number, true);
    view.setInt32(12, axis, true);
    view.setInt32(16, index, true);
    view.setFloat32(20, radius, true);
    view.setUint32(24, points.length / 2, true);
    new Float32Array(data, HEADER).set(points);
    if (final) this.#waiting.set(number, data);
    if (this.open) this.#socket.send(data);
  }

  #binary(data) {
    const view = new DataView(data), u32 = (at) => view.getUint32(at, true);
    if (view.getUint8(0) === MASK) {
      const runs = u32(32);
      this.#tell("mask", {
        item: u32(4), axis: view.getInt32(8, true), index: view.getInt32(12, true),
        x: u32(16), y: u32(20), width: u32(24), height: u32(28),
        lengths: new Uint32Array(data, 36, runs), values: new Uint16Array(data, 36 + 4 * runs, runs),
      });
    } else if (view.getUint8(0) === STROKE) {
      const flags = view.getUint8(1);
      this.#tell("stroke", {
        label: view.getUint16(2, true), item: u32(4), key: u32(8), axis: view.getInt32(12, true),
        index: view.getInt32(16, true), radius: view.getFloat32(20, true), erase: Boolean(flags & ERASE),
        points: new Float32Array(data, HEADER, 2 * u32(24)),
      });
    }
  }
}
