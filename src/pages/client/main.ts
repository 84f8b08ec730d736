/** The pages' script: times, copy buttons, search, Live, and trying an entry, which loads the client. */
import type { Callee } from "../programs.ts";
import type { Target } from "./targets.ts";
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
  () => void import("./qr.ts").then(({ pictureOf }) => phone.append(pictureOf(callee.url))),
  { once: true },
);

const entries = [...document.querySelectorAll<HTMLDetailsElement>("details.entry")];

for (const entry of entries) {
  const { kind, name = "" } = entry.dataset;
  const place = document.createElement("div");
  const target = { kind, name } as Target;
  const label = kind === "tool" || kind === "prompt" ? "Try it" : "Read it";
  const pressed = button(label, async (one) => {
    one.disabled = true;
    try {
      const { mountTry } = await import("./try.tsx");
      mountTry(place, { target, address: mcp, callee });
      one.remove();
    } catch {
      one.disabled = false;
      place.textContent = "The script could not be loaded. Reload the page.";
    }
  });
  pressed.setAttribute("aria-label", `${label}: ${name}`);
  entry.querySelector(".acts")?.prepend(pressed);
  entry.querySelector(".inside")?.append(place);
}

const [live, news] = ["#live", "#news"].map((id) => document.querySelector<HTMLElement>(id));
if (live && news) void import("./live.ts").then(({ follow }) => follow(live, news));

const search = document.querySelector<HTMLInputElement>("#search");
const found = document.querySelector("#found");
search?.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const section of document.querySelectorAll<HTMLElement>(".servlet")) {
    const title = section.querySelector("h3")?.textContent.toLowerCase() ?? "";
    let isShown = false;
    for (const entry of section.querySelectorAll<HTMLElement>(".entry")) {
      const text = `${title} ${entry.textContent.toLowerCase()}`;
      entry.hidden = !words.every((word) => text.includes(word));
      if (!entry.hidden) isShown = true;
      if (!entry.hidden) count++;
    }
    section.hidden = !isShown && words.length > 0;
  }
  if (found) found.textContent = words.length === 0 ? "" : `${count} found`;
});

/** Opens the entry that the address names. */
function open(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const entry = target?.closest("details");
  if (!entry) return;
  entry.open = true;
  entry.scrollIntoView({ block: "start" });
}
addEventListener("hashchange", open);
open();
