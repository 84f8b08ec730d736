/** Open questions in this browser's tabs. The server does not list them: a tool tried in a tab has no task. */

/** An open question in a tab. */
export interface TabQuestion {
  id: string;
  /** The called entry, and its question. */
  name: string;
  question: string;
  /** Unix time in ms. */
  asked: number;
}

/** A request for all open questions, or news of a question in the sender's tab. */
type Message = { asks: true } | { open: TabQuestion } | { closed: string };

const channel = new BroadcastChannel("edge-servlets-questions");
// BroadcastChannel is limited to this origin.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const say = (message: Message) => channel.postMessage(message);

const own = new Map<string, TabQuestion>();

/** Sets the title of this tab, preceded by the number of open questions. */
export function inTitle(title = document.title.replace(/^\(\d+\) /, "")): void {
  document.title = own.size === 0 ? title : `(${own.size}) ${title}`;
}

channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if ("asks" in data) for (const open of own.values()) say({ open });
});
addEventListener("pagehide", () => {
  for (const closed of own.keys()) say({ closed });
});

/** Announces a question of this tab to the others, until `done` settles. */
export function announce(asked: Pick<TabQuestion, "name" | "question">, done: Promise<unknown>) {
  const id = `tab-${crypto.randomUUID()}`;
  const open = { ...asked, id, asked: Date.now() };
  own.set(id, open);
  inTitle();
  say({ open });
  const close = () => {
    own.delete(id);
    inTitle();
    say({ closed: id });
  };
  done.then(close, close);
}

/** Subscribes to the questions of the other tabs. */
export function followTabs(on: { open(one: TabQuestion): void; closed(id: string): void }): void {
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if ("open" in data) on.open(data.open);
    if ("closed" in data) on.closed(data.closed);
  });
  say({ asks: true });
}
