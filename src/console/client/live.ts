/** Keeps the list of calls and sessions as it is, by the server's events. */

/** As `Listed` of the server. */
interface Listed {
  id: string;
  kind: "call" | "session";
  name: string;
  status: string;
  waits?: string;
  updated: number;
}

/** The words of each status, as the server's page has them. */
const WORDS: Record<string, string> = {
  input_required: "needs an answer",
  working: "goes on",
  completed: "has ended",
  failed: "has failed",
  cancelled: "was cancelled",
};

const groupOf = ({ kind, status }: Listed): string => {
  if (kind === "session") return "sessions";
  return status === "input_required" ? "waiting" : status === "working" ? "working" : "ended";
};

/** Follows the events of this list; `news` is told what happens. */
export function follow(list: HTMLElement, news: HTMLElement): void {
  const pattern = list.querySelector("template")!.content.firstElementChild!;
  const groups = new Map(
    [...list.querySelectorAll<HTMLElement>("[data-group]")].map((one) => [
      one.dataset["group"],
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
      call.kind === "call" ? (WORDS[call.status] ?? call.status) : "open";
    const answer = link("answer");
    answer.href = `/ask/${call.id}`;
    answer.hidden = call.status !== "input_required";
    const time = part("time") as HTMLTimeElement;
    time.dateTime = new Date(call.updated).toISOString();
    time.textContent = new Date(call.updated).toLocaleString();
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
    events.addEventListener("open", () => (news.textContent = "This list follows your calls."));
    events.addEventListener("all", ({ data }: MessageEvent<string>) => {
      rows = new Map();
      const all = Map.groupBy(JSON.parse(data) as Listed[], groupOf);
      for (const [name, { rows: place }] of groups) {
        place.replaceChildren(
          ...(all.get(name ?? "") ?? []).map((call) => {
            const row = rowOf(call);
            rows.set(call.id, row);
            return row;
          }),
        );
      }
      count();
    });
    events.addEventListener("message", ({ data }: MessageEvent<string>) => {
      for (const call of JSON.parse(data) as Listed[]) {
        put(call);
        if (call.kind === "call")
          news.textContent = `${call.name} ${WORDS[call.status] ?? call.status}.`;
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
      // It connects again by itself, unless the server has refused it: after a while that may be over.
      news.textContent = "The connection was lost. Connecting again…";
      if (events.readyState !== EventSource.CLOSED) return;
      const again = document.createElement("a");
      again.href = `/sign-in?back=${encodeURIComponent(location.pathname)}`;
      again.textContent = "Sign in again";
      news.replaceChildren("This list follows nothing now. ", again, " if that is long ago.");
      setTimeout(connect, AGAIN_MS);
    });
  }
  connect();
}

/** How long it waits after the server has refused its connection. */
const AGAIN_MS = 10_000;
