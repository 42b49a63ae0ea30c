// The page in the output of a notebook's cell: a frame, whose socket and requests are messages of the widget.
// apps/app/notebook.py is the other side.

const HIDDEN = "#files, #start-section, section:has(#save) { display: none !important; }";   // need files of the app

function render({ model, el }) {
  const files = model.get("files"), urls = {}, waiting = new Map();
  let socket = null, number = 0;

  // Modules import each other by relative addresses, which the addresses of blobs replace.
  const url = (name) => (urls[name] ??= URL.createObjectURL(new Blob(
    [files[name].replace(/"\.\/([\w.]+)"/g, (_, other) => `"${url(other)}"`)], { type: "text/javascript" })));

  class Socket {
    static OPEN = 1;
    readyState = 0;

    constructor() {
      socket = this;
      setTimeout(() => {
        this.readyState = Socket.OPEN;
        this.onopen();
        model.send({ kind: "connect" });
      });
    }

    send(data) {   // a copy, as the frame has an ArrayBuffer of its own
      if (typeof data === "string") model.send({ kind: "text", text: data });
      else model.send({ kind: "bytes" }, undefined, [new Uint8Array(data).slice().buffer]);
    }
  }

  const request = (path, { method = "GET" } = {}) => new Promise((resolve) => {
    if (method !== "GET") {
      resolve(new Response("a notebook shows the image of its session; make a session for another one", { status: 400 }));
      return;
    }
    waiting.set(++number, resolve);
    model.send({ kind: "get", number, path });
  });

  const receive = (content, buffers) => {
    const data = buffers?.length ? new Uint8Array(buffers[0].buffer ?? buffers[0],
      buffers[0].byteOffset ?? 0, buffers[0].byteLength).slice().buffer : null;
    if (content.kind === "answer") {
      const { error, type } = content;
      waiting.get(content.number)?.(new Response(error ?? data,
        { status: error ? 400 : 200, headers: { "content-type": type ?? "text/plain" } }));
      waiting.delete(content.number);
    } else {
      socket?.onmessage({ data: content.kind === "text" ? content.text : data });
    }
  };

  const frame = document.createElement("iframe");
  frame.style = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.srcdoc = files["index.html"].replace(/<link rel="icon".*?>|<script.*?<\/script>/g, "")
    .replace(/<link rel="stylesheet".*?>/, () => `<style>${files["app.css"]}${HIDDEN}</style>`);
  frame.onload = () => {
    Object.assign(frame.contentWindow, { WebSocket: Socket, fetch: request });
    const script = frame.contentDocument.createElement("script");
    Object.assign(script, { type: "module", src: url("main.js") });
    frame.contentDocument.body.append(script);
  };
  model.on("msg:custom", receive);
  el.append(frame);
  return () => {
    model.off("msg:custom", receive);
    Object.values(urls).forEach((one) => URL.revokeObjectURL(one));
  };
}

export default { render };
