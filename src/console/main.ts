/** The script of every page: times, copy buttons, and the scripts of particular pages. */
import type { Callee } from "../server/features/console/programs.ts";
import { followTimes } from "./times.ts";

const { mcp = "/mcp" } = document.querySelector<HTMLElement>("[data-mcp]")?.dataset ?? {};

function button(label: string, act: (button: HTMLButtonElement) => unknown): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", () => void act(made));
  return made;
}

for (const text of document.querySelectorAll<HTMLElement>("[data-copy]")) {
  const copy = button("Copy", async (pressed) => {
    await navigator.clipboard.writeText(text.textContent.trim());
    pressed.textContent = "Copied";
    setTimeout(() => (pressed.textContent = "Copy"), 2000);
  });
  copy.className = "copy";
  copy.setAttribute("aria-label", `Copy: ${text.getAttribute("aria-label")}`);
  text.after(copy);
}

followTimes();

addEventListener("keydown", ({ key, ctrlKey, metaKey, target }) => {
  if (key !== "Enter" || !(ctrlKey || metaKey)) return;
  (target as Element).closest("form")?.querySelector<HTMLElement>(".primary")?.click();
});

// Links in a servlet's text may lead to other servers.
addEventListener("click", (event) => {
  const link = (event.target as Element).closest<HTMLAnchorElement>("a[data-foreign]");
  if (link && !confirm(`Open ${link.href}? A servlet has written this link.`))
    event.preventDefault();
});

// Preserve the arguments of a link during sign-in.
if (location.hash.startsWith("#args="))
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="/sign-in?"]'))
    link.hash = location.hash;

/** Submitted forms. Each is sent only once: a second answer would replace the first, which may show a new key. */
let sent = new WeakSet<EventTarget>();
addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target === null) return;
  if (sent.has(event.target)) event.preventDefault();
  sent.add(event.target);
});
// A page restored from the browser's cache may send its forms again.
addEventListener("pageshow", () => (sent = new WeakSet()));

/** Shown while the browser is offline. */
const offline = document.createElement("p");
offline.setAttribute("role", "status");
const showNetwork = () => {
  offline.className = navigator.onLine ? "" : "notice warn offline";
  offline.textContent = navigator.onLine
    ? ""
    : "You are offline. This page still shows the last state; go on once the network is back.";
};
document.body.append(offline);
for (const change of ["online", "offline"]) addEventListener(change, showNetwork);
showNetwork();

/** The server as generated programs call it. */
const callee = JSON.parse(
  document.querySelector<HTMLElement>("[data-callee]")?.dataset["callee"] ?? '{"url":""}',
) as Callee;

const phone = document.querySelector<HTMLDetailsElement>("#phone");
phone?.addEventListener(
  "toggle",
  () =>
    void import("./qr.ts").then(({ pictureOf }) => phone.append(pictureOf(phone.dataset["url"]!))),
  { once: true },
);

const [live, news] = ["#live", "#news"].map((id) => document.querySelector<HTMLElement>(id));
if (live && news) void import("./live.ts").then(({ follow }) => follow(live, news));

const explore = document.querySelector(".explore");
if (explore) void import("./explore.ts").then((one) => one.follow(explore, { mcp, callee }));
