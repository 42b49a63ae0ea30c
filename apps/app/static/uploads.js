// Files for the server: images, hints, and the sample photograph.

import { showCard } from "./panel.js";

/** @import { App } from "./main.js" */

/** @param {App} app @param {string} kind @param {File} file */
export async function sendHint(app, kind, file) {
  const answer = await fetch(`hint/${kind}/${app.item}`, { method: "POST", body: file });
  if (!answer.ok) app.error({ text: await answer.text() });
}

/** @param {App} app @param {File} file */
export async function upload(app, file) {
  const answer = await fetch(`images?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  if (answer.ok) app.open((await answer.json()).item);
  else if (app.items.length) app.error({ text: await answer.text() });
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
