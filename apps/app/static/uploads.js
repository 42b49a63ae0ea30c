// Files for the server (images, masks, the sample photograph), and the cut-out from it.

import { $ } from "./elements.js";
import { forgetError, showCard } from "./panel.js";

/** @import { App } from "./main.js" */

/** @param {App} app @param {File} file */
export async function sendMask(app, file) {
  forgetError();
  const answer = await fetch(`hint/start/${app.item}?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  if (!answer.ok) app.error({ text: await answer.text() });
}

/** @param {App} app @param {File} file */
export async function upload(app, file) {
  const answer = await fetch(`images?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  if (answer.ok) {
    const { item, items } = await answer.json();
    app.items = items;
    app.open(item);
  } else if (app.items.length) app.error({ text: await answer.text() });
  else showCard("empty", `${file.name} cannot be opened`, await answer.text());
}

/** @param {App} app @param {File[]} files */
export async function uploadAll(app, files) {
  for (const file of files) await upload(app, file);
}

/** @param {App} app */
export async function openSample(app) {
  const answer = await fetch("sample");
  await upload(app, new File([await answer.blob()], "astronaut.png"));
}

/** @param {App} app */
async function cutout(app) {
  const answer = await fetch(`cutout/${app.item}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.blob();
}

/** @param {App} app */
export async function copyCutout(app) {
  // The promise is passed on: a browser lets a page write to the clipboard only at once after a click.
  await navigator.clipboard.write([new ClipboardItem({ "image/png": cutout(app) })]);
  $("saved").textContent = "The cut-out is in the clipboard";
}

/** @param {App} app */
export async function downloadCutout(app) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await cutout(app));
  link.download = `${(app.info?.name ?? "image").replace(/\.[^.]*$/, "")}-cutout.png`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
