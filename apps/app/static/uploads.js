// Files for the server (images, masks, the sample photograph), and the cut-out from it.

import { $, reasonOf } from "./elements.js";
import { forgetError, showCard } from "./panel.js";

/** @import { App } from "./main.js" */

/** The server's answer; an error says why there is none.  @param {string} path @param {File} [file] to send */
async function ask(path, file) {
  const answer = await (file ? fetch(`${path}?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file }) : fetch(path));
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

/** @param {App} app @param {File} file */
export async function sendMask(app, file) {
  forgetError();
  await app.attempt(ask(`hint/start/${app.item}`, file));
}

/** @param {App} app @param {File} file */
async function upload(app, file) {
  try {
    const { item, items } = await (await ask("images", file)).json();
    app.items = items;
    app.open(item);
  } catch (error) {
    if (app.items.length) app.error({ text: reasonOf(error) });
    else showCard("empty", `${file.name} cannot be opened`, reasonOf(error));
  }
}

/** @param {App} app @param {File[]} files */
export async function uploadAll(app, files) {
  for (const file of files) await upload(app, file);
}

/** @param {App} app */
export async function openSample(app) {
  await upload(app, new File([await (await ask("sample")).blob()], "astronaut.png"));
}

/** @param {App} app */
const cutout = async (app) => (await ask(`cutout/${app.item}`)).blob();

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
