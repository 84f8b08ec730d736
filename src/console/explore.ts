/** The list of entries: search, keyboard navigation, and a pane for each open entry. */
import { percentDecoded } from "../server/kernel/core/text.ts";
import type { Callee } from "../server/features/console/programs.ts";
import { paneAt } from "./panes.ts";
import type { Target } from "./targets.ts";
import { inTitle } from "./tabs.ts";

/** The MCP endpoint for this page, and the server as generated programs call it. */
interface Served {
  mcp: string;
  callee: Callee;
}

/** Maximum number of panes whose form and call are preserved when the user leaves them. */
const KEPT = 10;

export function follow(explore: Element, served: Served): void {
  const panes = explore.querySelector<HTMLElement>(".panes");
  const list = explore.querySelector<HTMLElement>(".list") ?? explore;
  const search = list.querySelector<HTMLInputElement>("#search");
  const rows = () =>
    [...list.querySelectorAll<HTMLAnchorElement>(".entry a")].filter((one) =>
      one.checkVisibility(),
    );
  filter(list, search);

  addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof HTMLElement)) return;
    const isTyping = target.closest("input, textarea, select");
    if (key === "/" && !isTyping && search?.checkVisibility()) {
      event.preventDefault();
      search.select();
    }
    if (target !== search && !target.closest(".entry a")) return;
    const all = rows();
    if (key === "Enter" && target === search) all[0]?.click();
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step === undefined) return;
    event.preventDefault();
    const next = all.indexOf(target as HTMLAnchorElement) + step;
    (all[next] ?? (next < 0 ? search : undefined))?.focus();
  });

  // Older addresses name an entry of the list in their fragment. The id is itself percent-encoded.
  const named = document.getElementById(percentDecoded(location.hash.slice(1)));
  const link = named?.querySelector<HTMLAnchorElement>(":scope.entry > a");
  if (link && !panes) return location.replace(link.href);
  if (!panes) return;

  const first = panes.querySelector<HTMLElement>(".pane");
  if (first) mount(first, served);
  const at = new WeakMap<Element, string>();
  if (first) at.set(first, location.search);
  const title = document.title.slice(document.title.indexOf(" · "));
  const current = list.querySelector<HTMLElement>("[aria-current]");
  if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;

  /** Shows the pane for the current address. */
  const show = async () => {
    const { href, search: wanted } = location;
    panes.querySelector(".unreached")?.remove();
    const all = [...panes.children] as HTMLElement[];
    let pane = all.find((one) => at.get(one) === wanted);
    if (pane === undefined) {
      const made = await paneAt(href);
      if (location.search !== wanted) return;
      if (made === null) return location.reload();
      pane = made === undefined ? unreached(show) : document.adoptNode(made);
      if (made !== undefined) at.set(pane, wanted);
      panes.append(pane);
      mount(pane, served);
      if (all.length >= KEPT) all.find((one) => one.hidden)?.remove();
    }
    for (const one of panes.children) (one as HTMLElement).hidden = one !== pane;
    for (const one of rows()) {
      const is = new URL(one.href).search === wanted;
      if (is) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    }
    const heading = pane.querySelector("h1");
    inTitle(`${heading?.textContent ?? ""}${title}`);
    heading?.focus({ preventScroll: true });
    scrollTo({ top: 0 });
  };
  (list as HTMLElement).addEventListener("click", (event) => {
    const followed = (event.target as Element).closest("a");
    const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    if (!followed || !isPlain) return;
    event.preventDefault();
    history.pushState(null, "", followed.href);
    void show();
  });
  addEventListener("popstate", () => void show());
}

/** A pane that replaces an entry that could not be loaded. */
function unreached(retry: () => unknown): HTMLElement {
  const pane = document.createElement("article");
  pane.className = "pane unreached";
  const [heading, why, button] = (["h1", "p", "button"] as const).map((name) =>
    pane.appendChild(document.createElement(name)),
  );
  heading!.textContent = "No answer";
  heading!.tabIndex = -1;
  why!.textContent = "The server could not be reached. Check your network.";
  button!.textContent = "Try again";
  button!.addEventListener("click", () => void retry());
  return pane;
}

/** Loads the form of an entry into its pane. */
function mount(pane: HTMLElement, { mcp, callee }: Served): void {
  const place = pane.querySelector<HTMLElement>(".place");
  if (place === null) return;
  place.textContent = "Loading …";
  const { kind, name } = pane.dataset;
  const onReady = () => pane.querySelector(".after")?.classList.add("ready");
  const shown = ({ mountTry }: typeof import("./try.tsx")) => {
    place.textContent = "";
    mountTry(place, { target: { kind, name } as Target, address: mcp, callee, onReady });
  };
  const failed = () => {
    place.textContent = "The form could not be loaded. Reload the page.";
    onReady();
  };
  import("./try.tsx").then(shown, failed);
}

/** Filters the list by the search text and the kind. */
function filter(list: Element, search: HTMLInputElement | null): void {
  const found = list.querySelector("#found");
  const kind = list.querySelector<HTMLSelectElement>("#kind");
  const show = () => {
    const words = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = kind?.value ?? "";
    const isAll = words.length === 0 && wanted === "";
    let count = 0;
    for (const section of list.querySelectorAll<HTMLElement>(".servlet")) {
      const title = section.querySelector("h3")?.textContent.toLowerCase() ?? "";
      let isShown = false;
      for (const entry of section.querySelectorAll<HTMLElement>(".entry")) {
        const text = `${title} ${entry.textContent.toLowerCase()}`;
        const isWanted = wanted === "" || entry.dataset["group"] === wanted;
        entry.hidden = !isWanted || !words.every((word) => text.includes(word));
        if (entry.hidden) continue;
        isShown = true;
        count++;
      }
      section.hidden = !isShown && !isAll;
    }
    if (found) found.textContent = isAll ? "" : `${count} found`;
  };
  search?.addEventListener("input", show);
  kind?.addEventListener("change", show);
  // Browsers restore the fields when the user comes back to the page.
  show();
}
