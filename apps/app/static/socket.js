// Connection to the server: JSON messages both ways, and run lengths of masks down.
// apps/app/messages.py describes the formats.

/**
 * @typedef {object} Stroke
 * @property {"stroke" | "erase" | "select" | "solid" | "push"} do
 * @property {Point[]} points   in pixels; pixel (i, j) covers [i, i + 1) x [j, j + 1)
 * @property {number} radius
 * @property {number} label
 * @property {boolean} [taken]  whether what is set by hand is taken from the object
 * @property {number} axis      of the slice; -1 for an image
 * @property {number} index     of the slice
 */
/** @typedef {[number, number]} Point   x, y */
/** @typedef {Stroke & { item: number, key: number }} KnownStroke */
/** @typedef {{ do: string, item: number, number?: number, final?: boolean, [argument: string]: unknown }} Action */
/** @typedef {{ x: number, y: number, width: number, height: number, lengths: Uint32Array, values: Uint16Array }} Runs */
/** @typedef {Runs & { item: number, axis: number, index: number }} MaskUpdate */
/** @typedef {{ name: string, state: "new" | "started" | "done" | "approved" | "unreadable" }} Item */
/** @typedef {[number, number, number]} Rgb */
/** @typedef {{ label: number, name: string, colour: Rgb | null, locked: boolean }} KnownObject */
/**
 * @typedef {object} State
 * @property {number} item
 * @property {number} version            counts changes of the labels
 * @property {number[]} order             keys of the strokes; negative, if their object was deleted later
 * @property {KnownObject[]} objects      by label, ascending
 * @property {boolean} undo
 * @property {boolean} redo
 * @property {Record<string, number[]>} boxes   by label
 * @property {number[]} labels
 * @property {number | null} energy
 * @property {number} seconds
 * @property {boolean} pending
 * @property {boolean} certified
 * @property {boolean} exact
 * @property {string} message
 */
/**
 * @typedef {object} Description          of an image; those from `spacing` on are of volumes
 * @property {number} item
 * @property {string} name
 * @property {string} address
 * @property {number[]} shape
 * @property {number[]} [spacing]
 * @property {[number, number]} [range]   least and greatest grey value
 * @property {[number, number]} [window]  level and width, as shares of the range
 * @property {number[][]} [world]         (3, 4), from indices z, y, x and 1 to coordinates in `unit`
 * @property {string} [unit]
 * @property {string[]} [letters]         where z, y and x begin and end, of RLAPIS
 */
/**
 * What a connection announces: the messages of the server, by type, and changes of the connection.
 * @typedef {object} Messages
 * @property {{ items: Item[], current: number, colours: Rgb[], kinds: [string, string][], chosen: string[], classes: [string, Rgb | null][], out: string }} hello
 * @property {{ items: Item[] }} items
 * @property {{ item: number, state: Item["state"] }} item
 * @property {Description} document
 * @property {{ item: number, text: string }} unreadable
 * @property {{ item: number }} taken      by another tab
 * @property {{ count: number }} compiling  kernels that were compiled, while some are; 0 at the end
 * @property {State} state
 * @property {MaskUpdate} mask
 * @property {{ item: number, version: number, axis: number, index: number, place: number[] | null, runs: [number[], number[]] }} look
 * @property {KnownStroke} stroke
 * @property {{ number: number }} confirmed
 * @property {{ item: number, files: string[] }} saved
 * @property {{ text: string, item?: number, number?: number }} error
 * @property {{}} open
 * @property {{}} closed
 */
/** @typedef {{ [T in keyof Messages]: (message: Messages[T]) => unknown }} Handlers */

const HEADER = 32;   // bytes

export class Connection {
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Map<number, Action>} */
  #waiting = new Map();   // strokes that the server has not confirmed, by number; sent again after a lost connection
  #delay = 250;           // milliseconds to the next attempt

  /** @param {URL} address @param {Handlers} handlers */
  constructor(address, handlers) {
    this.address = address;
    this.handlers = handlers;
    this.#open();
  }

  get open() { return this.#socket?.readyState === WebSocket.OPEN; }

  #open() {
    const socket = this.#socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { this.#delay = 250; this.handlers.open({}); };
    socket.onmessage = ({ data }) => (typeof data === "string" ? this.#text(JSON.parse(data)) : this.#binary(data));
    socket.onclose = () => {
      this.handlers.closed({});
      setTimeout(() => this.#open(), this.#delay);
      this.#delay = Math.min(5000, 2 * this.#delay);
    };
  }

  /**
   * @template {keyof Messages} T
   * @param {Messages[T] & { type: T, number?: number }} message
   */
  #text(message) {
    if (message.number !== undefined) this.#waiting.delete(message.number);   // confirmed, or refused
    this.handlers[message.type](message);
  }

  /**
   * After the server has described the image that is open.
   * @param {number} item
   */
  sendAgain(item) {
    for (const message of this.#waiting.values()) if (message.item === item) this.send(message);
  }

  /** @param {Action} message */
  send(message) {
    if (message.number && message.final) this.#waiting.set(message.number, message);
    if (this.open) this.#socket?.send(JSON.stringify(message));
    return this.open;
  }

  /** @param {ArrayBuffer} data */
  #binary(data) {
    const [item, axis, index, x, y, width, height, runs] = new Int32Array(data, 0, HEADER / 4);
    const lengths = new Uint32Array(data, HEADER, runs), values = new Uint16Array(data, HEADER + 4 * runs, runs);
    this.handlers.mask({ item, axis, index, x, y, width, height, lengths, values });
  }
}
