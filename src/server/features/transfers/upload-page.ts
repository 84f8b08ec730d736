/** The page on which a person chooses a file that a servlet asks for, its script, and the one by which pages send files. */
import { html } from "hono/html";
import { SEND_SCRIPT_PATH } from "../../kernel/core/files.ts";
import { documentOf, shown } from "../../kernel/http/document.ts";
import type { Site } from "../../kernel/http/site.ts";
import type { OpenFile } from "./stored-file.ts";

export const UPLOAD_SCRIPT_PATH = "/files/upload.js";

/** The page of an upload; without one, or if its file is known already, it says so. */
export function uploadPage(upload: OpenFile | undefined, site: Site): Promise<Response> {
  const answer = { headers: new Headers(), name: "Send a file", extraStyle: style };
  if (upload === undefined)
    return documentOf(
      site,
      html`<h1>This page is over</h1>
        <p>The file was not sent in time, or the address is misspelt. Ask for another one.</p>`,
      { ...answer, status: 404 },
    );
  const { request, isWhole } = upload;
  if (isWhole)
    return documentOf(
      site,
      html`<h1>The file was sent</h1>
        <p>You can close this page.</p>`,
      { ...answer, status: 200 },
    );
  const { message = "A tool waits for a file.", accept = [] } = request ?? {};
  const body = html`<h1>Send a file</h1>
    <p>${shown(message)}</p>
    <noscript><p>This page needs JavaScript.</p></noscript>
    <form id="upload">
      <label id="drop"
        >Choose a file, or drop it here
        <input id="file" type="file" accept="${accept.join(",")}" />
      </label>
      <progress id="progress" max="1" value="0" hidden></progress>
      <p id="status" role="status"></p>
    </form>`;
  return documentOf(site, body, { ...answer, status: 200, script: UPLOAD_SCRIPT_PATH });
}

const style = `
#drop { display: block; padding: 2.5rem 1rem; border: 2px dashed currentColor; border-radius: .5rem; text-align: center; cursor: pointer; }
#drop.over { border-style: solid; }
#drop input { display: block; margin: 1rem auto 0; max-width: 100%; }
#progress { width: 100%; margin-top: 1rem; }`;

export const scriptResponse = (script: string): Response =>
  new Response(script, {
    headers: {
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
    },
  });

/** The script by which pages send a file. It is plain JavaScript, as browsers get it. */
export const sendScript = `
const PART = 8 * 1024 * 1024;
/** Waits this long, or until the signal aborts. */
const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
});
const refusal = (why) => Object.assign(new Error(why), { isFinal: true });

/** Sends a part; gives the status and the answer, or throws if the connection is lost. */
function put(file, start, { url, show, signal }) {
  const end = Math.min(start + PART, file.size);
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open("PUT", url);
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("x-file-name", encodeURIComponent(file.name));
    request.setRequestHeader("content-type", file.type || "application/octet-stream");
    if (file.size > 0) request.setRequestHeader("content-range", "bytes " + start + "-" + (end - 1) + "/" + file.size);
    request.upload.onprogress = ({ loaded }) => show(file.size === 0 ? 1 : (start + loaded) / file.size);
    request.onload = () => resolve({ status: request.status, answer: parsed(request.responseText) });
    request.onerror = request.onabort = request.ontimeout = () => reject(new Error("lost"));
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file.slice(start, end));
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

async function arrived({ url, signal }) {
  const response = await fetch(url, { headers: { accept: "application/json" }, signal });
  if (response.status === 404) throw refusal("The time for this upload is over. Begin it again.");
  return (await response.json()).received;
}

/**
 * Sends a file to the URL of an upload in parts, so that little is sent again after a lost connection: it asks how much has
 * arrived, and goes on from there. Shows the share that was sent, and undefined while the connection is lost. Throws an error
 * with the reason if the file is refused, or when the signal aborts.
 */
export async function sendInParts(file, how) {
  let start = 0;
  for (let failures = 0; ; ) {
    try {
      how.signal?.throwIfAborted();
      const { status, answer } = await put(file, start, how);
      if (status === 201) return;
      if (status === 202) [start, failures] = [answer.received, 0];
      else if (status === 409 && answer.received > start) start = answer.received;
      else if (status === 429 || status >= 500 || status === 408) throw new Error("busy");
      else throw refusal(answer.error || "The server refuses the file (" + status + ").");
    } catch (error) {
      if (error.isFinal || how.signal?.aborted) throw error;
      how.show(undefined);
      await pause(Math.min(1000 * 2 ** failures++, 15000), how.signal);
      try {
        start = await arrived(how);
      } catch (reason) {
        if (reason.isFinal) throw reason;
      }
    }
    if (file.size > 0 && start >= file.size) return;
  }
}
`;

/** The script of the page. */
export const uploadScript = `
import { sendInParts } from "${SEND_SCRIPT_PATH}";
const [drop, input, bar, status] = ["drop", "file", "progress", "status"].map((id) => document.getElementById(id));

function show(share) {
  if (share === undefined) return (status.textContent = "The connection was lost. Trying again.");
  bar.value = share;
  status.textContent = Math.floor(100 * share) + " %";
}

async function send(file) {
  input.disabled = true;
  bar.hidden = false;
  try {
    await sendInParts(file, { url: location.href, show });
    drop.hidden = true;
    bar.value = 1;
    status.textContent = "The file was sent. You can close this page.";
  } catch (error) {
    input.disabled = false;
    input.value = "";
    bar.hidden = true;
    status.textContent = error.message;
  }
}

input.addEventListener("change", () => input.files[0] && send(input.files[0]));
for (const kind of ["dragover", "dragleave", "drop"])
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover");
    const [file] = (kind === "drop" && event.dataTransfer.files) || [];
    if (file && !input.disabled) send(file);
  });
`;
