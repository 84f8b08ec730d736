/** The page on which a person chooses a file that a servlet asks for, and its script. */
import { html } from "hono/html";
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
  const { request, received, size } = upload;
  if (request === undefined && received === size)
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

/** The script of the page. */
export const uploadScript = (): Response =>
  new Response(script, {
    headers: {
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
    },
  });

/**
 * Sends the file in parts, so that little is sent again after a lost connection: it asks how much has arrived, and goes
 * on from there. It is plain JavaScript, as browsers get it.
 */
const script = `
const PART = 8 * 1024 * 1024;
const [drop, input, bar, status] = ["drop", "file", "progress", "status"].map((id) => document.getElementById(id));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Sends a part; gives the status and the answer, or throws if the connection is lost. */
function put(file, start) {
  const end = Math.min(start + PART, file.size);
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open("PUT", location.href);
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("x-file-name", encodeURIComponent(file.name));
    request.setRequestHeader("content-type", file.type || "application/octet-stream");
    if (file.size > 0) request.setRequestHeader("content-range", "bytes " + start + "-" + (end - 1) + "/" + file.size);
    request.upload.onprogress = ({ loaded }) => show(start + loaded, file.size);
    request.onload = () => resolve({ status: request.status, answer: parsed(request.responseText) });
    request.onerror = request.onabort = request.ontimeout = () => reject(new Error("lost"));
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

function show(sent, size) {
  bar.value = size === 0 ? 1 : sent / size;
  status.textContent = Math.floor(100 * bar.value) + " %";
}

async function arrived() {
  const response = await fetch(location.href, { headers: { accept: "application/json" } });
  if (response.status === 404) throw Object.assign(new Error("The time for this file is over. Ask for another one."), { isFinal: true });
  return (await response.json()).received;
}

async function send(file) {
  input.disabled = true;
  bar.hidden = false;
  let start = 0;
  for (let failures = 0; ; ) {
    try {
      const { status: code, answer } = await put(file, start);
      if (code === 201) return done();
      if (code === 202) [start, failures] = [answer.received, 0];
      else if (code === 409 && answer.received > start) start = answer.received;
      else if (code === 429 || code >= 500 || code === 408) throw new Error("busy");
      else return failed(answer.error || "The server refuses the file (" + code + ").");
    } catch (error) {
      if (error.isFinal) return failed(error.message);
      status.textContent = "The connection was lost. Trying again.";
      await pause(Math.min(1000 * 2 ** failures++, 15000));
      try {
        start = await arrived();
        if (file.size > 0 && start >= file.size) return done();
      } catch (reason) {
        if (reason.isFinal) return failed(reason.message);
      }
    }
  }
}

function done() {
  drop.hidden = true;
  bar.value = 1;
  status.textContent = "The file was sent. You can close this page.";
}

function failed(why) {
  input.disabled = false;
  input.value = "";
  bar.hidden = true;
  status.textContent = why;
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
