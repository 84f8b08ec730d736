/** The script of all pages: times, copy buttons, and what each page has of its own. */
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

// A link in a text of a servlet leads to another server.
addEventListener("click", (event) => {
  const link = (event.target as Element).closest<HTMLAnchorElement>("a[data-foreign]");
  if (link && !confirm(`Open ${link.href}? A servlet has written this link.`))
    event.preventDefault();
});

// Whoever has to sign in first finds the arguments of a link afterwards.
if (location.hash.startsWith("#args="))
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="/sign-in?"]'))
    link.hash = location.hash;

/** A form is sent once for each page: the answer to a second click would take the place of the first, such as a new key. */
let sent = new WeakSet<EventTarget>();
addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target === null) return;
  if (sent.has(event.target)) event.preventDefault();
  sent.add(event.target);
});
// A browser that comes back to the page may send it anew.
addEventListener("pageshow", () => (sent = new WeakSet()));

/** Says that the network is gone, as long as it is. */
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

/** The server, as programs that repeat a call have it. */
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
