/** Updates the list of calls and sessions from the server's events, and filters it. */
import {
  badgeOf,
  groupOf,
  passes,
  shownServlet,
  STATUSES,
  shownTime,
  type CallFilter,
  type Group,
  type Row,
} from "../server/kernel/calls/statuses.ts";
import { answerHere } from "./answer-here.ts";
import { followTabs } from "./tabs.ts";
import { showTime } from "./times.ts";

/** Maximum time of a slice of work before the script yields to the browser, in ms. */
const SLICE_MS = 8;

/** Subscribes to the events of the list, or of the page's one call; `news` shows the latest event. */
export function follow(place: HTMLElement, news: HTMLElement): void {
  const isCall = place.dataset["call"] !== undefined;
  (isCall ? followCall : followList)(place, news);
  answerHere(() => {
    if (isCall) location.reload();
    else news.textContent = "Your answer was taken.";
  });
}

/** Announces changes of the page's call. It does not update the page, where the user may be reading or typing. */
function followCall({ dataset }: HTMLElement, news: HTMLElement): void {
  news.textContent = "";
  const events = new EventSource(dataset["events"]!);
  const look = ({ data }: MessageEvent<string>) => {
    const now = (JSON.parse(data) as Row[]).find(({ id }) => id === dataset["call"]);
    if (now === undefined || now.updated <= Number(dataset["updated"])) return;
    const link = document.createElement("a");
    link.href = location.pathname;
    link.textContent = "Show it as it is now";
    news.replaceChildren(`${now.name} ${STATUSES[now.status] ?? now.status}. `, link);
  };
  for (const kind of ["all", "message"]) events.addEventListener(kind, look);
  events.addEventListener("crowded", () => events.close());
}

function followList(list: HTMLElement, news: HTMLElement): void {
  const pattern = list.querySelector("template")!.content.firstElementChild!;
  const groups = new Map(
    [...list.querySelectorAll<HTMLElement>("[data-group]")].map((one) => [
      one.dataset["group"] as Group,
      {
        rows: one,
        section: one.parentElement!,
        count: one.parentElement!.querySelector("[data-count]")!,
      },
    ]),
  );
  /** The rows by id, with their calls. Rows rendered by the server have no call until the first event. */
  const rows = new Map(
    [...list.querySelectorAll<HTMLElement>("li[data-id]")].map((row) => [
      row.dataset["id"]!,
      { row, call: undefined as Row | undefined },
    ]),
  );
  const empty = list.querySelector<HTMLElement>("[data-empty]")!;
  const unmatched = list.querySelector<HTMLElement>("[data-unmatched]")!;
  const form = document.querySelector<HTMLFormElement>("#filter")!;
  const [text, state] = ["text", "state"].map(
    (name) => form.elements.namedItem(name) as HTMLInputElement,
  ) as [HTMLInputElement, HTMLInputElement];
  const filter = (): CallFilter => ({ text: text.value.trim(), state: state.value });

  function rowOf(call: Row): HTMLElement {
    const row = pattern.cloneNode(true) as HTMLElement;
    const part = (name: string) => row.querySelector<HTMLElement>(`[data-${name}]`)!;
    const link = (name: string) => part(name) as HTMLAnchorElement;
    const say = (name: string, words: string) => (part(name).textContent = words);
    const time = (place: HTMLElement, at: number) => {
      const shown = place.querySelector("time")!;
      shown.dateTime = new Date(at).toISOString();
      showTime(shown);
    };
    row.dataset["id"] = call.id;
    row.dataset["updated"] = String(call.updated);
    const { text: words, tone, when } = badgeOf(call);
    say("name", call.name);
    if (call.kind === "call") link("name").href = `/console/live/${call.id}`;
    else link("name").removeAttribute("href");
    say("status", words);
    part("status").className = `badge ${tone}`;
    say("servlet", shownServlet(call));
    say("arguments", call.arguments ?? "");
    say("reason", call.reason ?? "");
    say("when", when);
    time(row, shownTime(call));
    part("wakes").hidden = call.wakes === undefined;
    if (call.wakes !== undefined) time(part("wakes"), call.wakes);
    const answer = link("answer");
    answer.href = `/ask/${call.id}`;
    answer.hidden = call.kind !== "call" || call.status !== "input_required";
    row.classList.toggle("asks", !answer.hidden);
    answer.querySelector("span")!.textContent = ` ${call.name}`;
    return row;
  }

  function count(): void {
    let all = 0;
    for (const { rows: own, section, count: shown } of groups.values()) {
      const many = own.querySelectorAll("li:not([hidden])").length;
      if (shown.textContent !== String(many)) shown.textContent = String(many);
      section.hidden = many === 0;
      all += many;
    }
    empty.hidden = rows.size > 0;
    unmatched.hidden = rows.size === 0 || all > 0;
  }

  /** Shows a call in its group: at the end if `isOlder`, else at the start. */
  function put(call: Row, isOlder = false): void {
    const before = rows.get(call.id)?.row;
    const row = rowOf(call);
    row.hidden = !passes(call, filter());
    const place = groups.get(groupOf(call))!.rows;
    // Replace a row in place if its group is unchanged, and preserve the focus.
    if (before?.parentElement === place) {
      const isFocused = before.contains(document.activeElement);
      before.replaceWith(row);
      if (isFocused) row.querySelector<HTMLElement>("[data-name]")!.focus();
    } else {
      before?.remove();
      row.classList.toggle("far", isOlder);
      if (isOlder) place.append(row);
      else place.prepend(row);
    }
    rows.set(call.id, { row, call });
  }

  function drop(id: string): void {
    rows.get(id)?.row.remove();
    rows.delete(id);
  }

  /** Events are processed in order, one after the other. */
  let turn = Promise.resolve();
  const inTurn = (work: () => Promise<void> | void): void => {
    turn = turn.then(work).catch(console.error);
  };

  async function inSlices<T>(all: Iterable<T>, work: (one: T) => void): Promise<void> {
    let began = performance.now();
    for (const one of all) {
      work(one);
      if (performance.now() - began < SLICE_MS) continue;
      await new Promise((resolve) => setTimeout(resolve));
      began = performance.now();
    }
  }

  async function showAll(all: readonly Row[]): Promise<void> {
    const ids = new Set(all.map(({ id }) => id));
    for (const id of Array.from(rows.keys())) if (!ids.has(id) && !id.startsWith("tab-")) drop(id);
    await inSlices(all, (call) => {
      const known = rows.get(call.id);
      if (known?.row.dataset["updated"] !== String(call.updated)) put(call, known === undefined);
      else known.call = call;
    });
    for (const more of list.querySelectorAll("[data-more]")) more.remove();
    count();
  }

  let isFiltering = false;
  async function applyFilter(): Promise<void> {
    if (isFiltering) return;
    isFiltering = true;
    await new Promise((resolve) => setTimeout(resolve));
    isFiltering = false;
    inTurn(async () => {
      const wanted = filter();
      await inSlices(rows.values(), ({ row, call }) => {
        if (call) row.hidden = !passes(call, wanted);
      });
      count();
    });
  }
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => void applyFilter());
  form.addEventListener("submit", (event) => event.preventDefault());

  /** Handles a key: arrows move between calls; Escape focuses the filter, or clears it if it has the focus. */
  function goBy(key: string): boolean {
    if (key === "Escape") {
      const isHere = document.activeElement === text;
      if (isHere) [text.value, state.value] = ["", ""];
      void applyFilter();
      text.focus();
      return isHere;
    }
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (step === 0) return false;
    const links = [...list.querySelectorAll<HTMLElement>("li:not([hidden]) a[href][data-name]")];
    const row = document.activeElement?.closest("li");
    const at = row === null || row === undefined ? -1 : links.findIndex((one) => row.contains(one));
    const next = links[at + step];
    if (at + step === -1) text.focus();
    next?.focus();
    return true;
  }
  for (const place of [form, list])
    place.addEventListener("keydown", (event) => {
      // In the select element, arrow keys choose a state.
      if (event.target === state && event.key !== "Escape") return;
      if (goBy(event.key)) event.preventDefault();
    });

  followTabs({
    open({ id, name, question: reason, asked: updated }) {
      const times = { created: updated, updated };
      inTurn(() => {
        put({ id, kind: "tab", name, status: "input_required", reason, ...times });
        count();
      });
    },
    closed: (id) =>
      inTurn(() => {
        drop(id);
        count();
      }),
  });

  function connect(): void {
    const events = new EventSource(list.dataset["events"]!);
    events.addEventListener("all", ({ data }: MessageEvent<string>) =>
      inTurn(async () => {
        await showAll(JSON.parse(data) as Row[]);
        news.textContent = "This list is kept up to date.";
      }),
    );
    events.addEventListener("message", ({ data }: MessageEvent<string>) =>
      inTurn(() => {
        for (const call of JSON.parse(data) as Row[]) {
          put(call);
          if (call.kind === "call")
            news.textContent = `${call.name} ${STATUSES[call.status] ?? call.status}.`;
        }
        count();
      }),
    );
    events.addEventListener("gone", ({ data }: MessageEvent<string>) =>
      inTurn(() => {
        drop(JSON.parse(data) as string);
        count();
      }),
    );
    events.addEventListener("crowded", ({ data }: MessageEvent<string>) => {
      events.close();
      inTurn(() => {
        news.textContent = `More than ${data} windows show your calls, so this one follows them no longer. Reload it to see changes.`;
      });
    });
    events.addEventListener("error", () => {
      // Browsers reconnect automatically unless the server has rejected the connection, which may also be temporary.
      news.textContent = "The connection was lost. Reconnecting …";
      if (events.readyState !== EventSource.CLOSED) return;
      const again = document.createElement("a");
      again.href = `/sign-in?back=${encodeURIComponent(location.pathname)}`;
      again.textContent = "Sign in again";
      news.replaceChildren(
        "This list is not kept up to date. ",
        again,
        " if your sign-in has expired.",
      );
      setTimeout(connect, RECONNECT_MS);
    });
  }
  connect();
}

/** Delay before reconnecting after the server has rejected a connection, in ms. */
const RECONNECT_MS = 10_000;
