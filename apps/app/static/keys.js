// The keyboard.  Keys work wherever the focus is, except in fields and on the controls that use them themselves.

export function bindKeys(host) {
  const plain = {
    d: () => host.setTool("object"), b: () => host.setTool("background"),
    e: () => host.setTool(host.tool === "erase" ? "object" : "erase"), r: () => host.setTool("box"),
    "[": () => host.changeRadius(-1), "]": () => host.changeRadius(1),
    f: () => host.fit(), 0: () => host.fit(),
    "+": () => host.zoomBy(1.25), "=": () => host.zoomBy(1.25), "-": () => host.zoomBy(0.8),
    v: () => host.nextDisplay(), s: () => host.toggleStrokes(),
    n: () => host.step(1), p: () => host.step(-1), a: () => host.nextAxis(),
    arrowup: () => host.moveSlice(1), arrowdown: () => host.moveSlice(-1),
    pageup: () => host.moveSlice(10), pagedown: () => host.moveSlice(-10),
    enter: () => host.save(true), escape: () => host.cancel(), "?": () => host.help(),
  };
  for (let label = 1; label <= 9; label++) plain[label] = () => host.setLabel(label);
  const control = {
    z: (event) => (event.shiftKey ? host.redo() : host.undo()), y: () => host.redo(), s: () => host.save(false),
    delete: () => host.clear(), backspace: () => host.clear(),
  };

  addEventListener("keydown", (event) => {
    const { target } = event, key = event.key.toLowerCase();
    if (document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey) {
      if (!event.altKey && control[key]) { event.preventDefault(); control[key](event); }
      return;
    }
    if (event.altKey) return;
    const ofSlider = target.matches?.("input[type=range]") && /^(arrow|page)/.test(key);
    const ofButton = target.matches?.("button, input[type=checkbox]") && (key === "enter" || key === " ");
    if (ofSlider || ofButton) return;
    if (key === " ") { event.preventDefault(); host.setSpace(true); return; }
    if (key === "h") { host.setAlone(true); return; }
    if (plain[key] && !(event.repeat && key === "enter")) { event.preventDefault(); plain[key](); }
  });
  addEventListener("keyup", (event) => {
    if (event.key === " ") host.setSpace(false);
    if (event.key.toLowerCase() === "h") host.setAlone(false);
  });
  addEventListener("blur", () => { host.setSpace(false); host.setAlone(false); });
}

// Groups of radio buttons: arrow keys move, as assistive programs expect.
export function bindRadios() {
  for (const group of document.querySelectorAll("[role=radiogroup]")) {
    group.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const buttons = [...group.querySelectorAll("[role=radio]")];
      const next = buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length];
      event.preventDefault();
      next.focus();
      next.click();
    });
  }
}

export function choose(group, chosen) {
  for (const button of group) {
    button.setAttribute("aria-checked", String(button === chosen));
    button.tabIndex = button === chosen ? 0 : -1;
  }
}
