// The page in the output of a notebook's cell: a frame, whose socket and requests are messages of the widget.
// apps/app/notebook.py is the other side.

const HIDDEN = "#files, #files-button, #open, #start-mask, #results, #saving { display: none !important; }";   // need files of the app

/** @typedef {{ kind: string, text?: string, number?: number, type?: string, error?: string }} Content */
/** @typedef {(content: Content, buffers?: DataView<ArrayBuffer>[]) => void} Receiver */
/**
 * @typedef {object} Model   of anywidget
 * @property {{ (key: "files"): Record<string, string>, (key: "height"): number }} get
 * @property {(content: object) => void} send
 * @property {(event: "msg:custom", receiver: Receiver) => void} on
 * @property {(event: "msg:custom", receiver: Receiver) => void} off
 */

/** @param {{ model: Model, el: HTMLElement }} output */
function render({ model, el }) {
  const files = model.get("files");
  /** @type {Map<string, string>} */
  const urls = new Map();       // of modules, by name
  /** @type {Map<number, (answer: Response) => void>} */
  const waiting = new Map();    // requests, by number
  /** @type {Socket | null} */
  let socket = null;
  let number = 0;

  /**
   * Modules import each other by relative addresses, which the addresses of blobs replace.
   * @param {string} name
   * @returns {string}
   */
  const url = (name) => {
    const code = () => files[name].replace(/^(import .* from )"\.\/([\w.]+)"/gm, (_, start, other) => `${start}"${url(other)}"`);
    const known = urls.get(name) ?? URL.createObjectURL(new Blob([code()], { type: "text/javascript" }));
    urls.set(name, known);
    return known;
  };

  class Socket {
    static OPEN = 1;
    readyState = 0;
    onopen = () => {};
    /** @type {(message: { data: string | ArrayBuffer | null | undefined }) => void} */
    onmessage = () => {};

    constructor() {
      socket = this;
      setTimeout(() => {
        this.readyState = Socket.OPEN;
        this.onopen();
        model.send({ kind: "connect" });
      });
    }

    /** @param {string} text */
    send(text) { model.send({ kind: "text", text }); }
  }

  /**
   * @param {string} path
   * @param {{ method?: string }} options
   * @returns {Promise<Response>}
   */
  const request = (path, { method = "GET" } = {}) => new Promise((resolve) => {
    if (method !== "GET") {
      resolve(new Response("a notebook shows the image of its session; make a session for another one", { status: 400 }));
      return;
    }
    waiting.set(++number, resolve);
    model.send({ kind: "get", number, path });
  });

  /** @type {Receiver} */
  const receive = (content, buffers) => {
    const data = buffers?.length ? new Uint8Array(buffers[0].buffer ?? buffers[0],
      buffers[0].byteOffset ?? 0, buffers[0].byteLength).slice().buffer : null;
    if (content.kind === "answer" && content.number !== undefined) {
      const { error, type } = content;
      waiting.get(content.number)?.(new Response(error ?? data,
        { status: error ? 400 : 200, headers: { "content-type": type ?? "text/plain" } }));
      waiting.delete(content.number);
    } else {
      socket?.onmessage({ data: content.kind === "text" ? content.text : data });
    }
  };

  const frame = document.createElement("iframe");
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.srcdoc = files["index.html"].replace(/<link rel="icon".*?>|<script.*?<\/script>/g, "")
    .replace(/<link rel="stylesheet" href="static\/([\w.]+)"(.*?)>/g, (_, name, media) => `<style${media}>${files[name]}</style>`)
    .replace("</head>", () => `<style>${HIDDEN}</style></head>`);
  frame.onload = () => {
    const { contentWindow: page, contentDocument: content } = frame;
    if (!page || !content) return;
    Object.assign(page, { WebSocket: Socket, fetch: request });
    const script = content.createElement("script");
    Object.assign(script, { type: "module", src: url("main.js") });
    content.body.append(script);
  };
  model.on("msg:custom", receive);
  el.append(frame);
  return () => {
    model.off("msg:custom", receive);
    for (const one of urls.values()) URL.revokeObjectURL(one);
  };
}

export default { render };
