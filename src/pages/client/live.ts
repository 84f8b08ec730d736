/** Keeps the list of calls and sessions up to date from the server's events. */
import { groupOf, STATUSES, type Group } from "../statuses.ts";
import { showTime } from "./times.ts";

/** A call or session, as the server's `ListedCall` has it. */
interface Listed {
  id: string;
  kind: "call" | "session";
  name: string;
  status: string;
  waits?: string;
  updated: number;
}

/** Follows the list's events; `news` shows the latest. */
export function follow(list: HTMLElement, news: HTMLElement): void {
  const pattern = list.querySelector("template")!.content.firstElementChild!;
  const groups = new Map(
    [...list.querySelectorAll<HTMLElement>("[data-group]")].map((one) => [
      one.dataset["group"] as Group,
      { rows: one, count: one.parentElement!.querySelector("[data-count]")! },
    ]),
  );
  let rows = new Map<string, HTMLElement>();

  function rowOf(call: Listed): HTMLElement {
    const row = pattern.cloneNode(true) as HTMLElement;
    const part = (name: string) => row.querySelector<HTMLElement>(`[data-${name}]`)!;
    const link = (name: string) => part(name) as HTMLAnchorElement;
    row.dataset["id"] = call.id;
    const name = link("name");
    name.textContent = call.name;
    if (call.kind === "call") name.href = `/console/live/${call.id}`;
    part("status").textContent =
      call.kind === "call" ? (STATUSES[call.status] ?? call.status) : "open";
    const answer = link("answer");
    answer.href = `/ask/${call.id}`;
    answer.hidden = call.status !== "input_required";
    const time = row.querySelector("time")!;
    time.dateTime = new Date(call.updated).toISOString();
    showTime(time);
    part("waits").textContent = call.waits ?? "";
    return row;
  }

  function count(): void {
    for (const { rows: own, count: shown } of groups.values())
      shown.textContent = String(own.childElementCount);
  }

  function put(call: Listed): void {
    const row = rowOf(call);
    const before = rows.get(call.id);
    const place = groups.get(groupOf(call))!.rows;
    // A row that stays in its group stays where it is.
    if (before?.parentElement === place) before.replaceWith(row);
    else {
      before?.remove();
      place.prepend(row);
    }
    rows.set(call.id, row);
  }

  function connect(): void {
    const events = new EventSource(list.dataset["events"]!);
    events.addEventListener("all", ({ data }: MessageEvent<string>) => {
      rows = new Map();
      const all = Map.groupBy(JSON.parse(data) as Listed[], groupOf);
      for (const [name, { rows: place }] of groups) {
        place.replaceChildren(
          ...(all.get(name) ?? []).map((call) => {
            const row = rowOf(call);
            rows.set(call.id, row);
            return row;
          }),
        );
      }
      count();
      news.textContent = "This list is kept up to date.";
    });
    events.addEventListener("message", ({ data }: MessageEvent<string>) => {
      for (const call of JSON.parse(data) as Listed[]) {
        put(call);
        if (call.kind === "call")
          news.textContent = `${call.name} ${STATUSES[call.status] ?? call.status}.`;
      }
      count();
    });
    events.addEventListener("gone", ({ data }: MessageEvent<string>) => {
      const id = JSON.parse(data) as string;
      rows.get(id)?.remove();
      rows.delete(id);
      count();
    });
    events.addEventListener("crowded", ({ data }: MessageEvent<string>) => {
      events.close();
      news.textContent = `More than ${data} windows show your calls, so this one follows them no longer. Reload it to see changes.`;
    });
    events.addEventListener("error", () => {
      // The browser reconnects by itself unless the server has refused, which may be temporary, too.
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

/** How long to wait after the server has refused a connection. */
const RECONNECT_MS = 10_000;
