// Files for the server: images, masks, the sample photograph.

import { reasonOf } from "./elements.js";
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
