/**
 * The states of calls in words, and how the page Live groups and filters them. Shared by the server and the pages'
 * script.
 */

/** A call or session in a list. */
export interface Row {
  id: string;
  /** `tab` for a question of a tool that is tried in another browser tab, unknown to the server. */
  kind: "call" | "session" | "tab";
  /** The name of the called entry; for a session, its client. */
  name: string;
  /** The status of its task, `failed` also if its result is an error; always `working` for a session. */
  status: string;
  /** The servlet, and the call's first arguments, in words. */
  servlet?: string;
  arguments?: string;
  /** Its pending question, last message, or reason of failure, in words. */
  reason?: string;
  /** When its current sleep ends, in Unix ms. */
  wakes?: number;
  /** Unix times in ms: when it started, and when it last changed. */
  created: number;
  updated: number;
}

/** A task's status in words, after its name: "greet is in progress". */
export const STATUSES: Record<string, string> = {
  input_required: "needs an answer",
  working: "is in progress",
  completed: "has succeeded",
  failed: "has failed",
  cancelled: "was cancelled",
};

/** The badge of each status, its tone, and the label of its time. */
const BADGES: Record<string, readonly [text: string, tone: string, when: string]> = {
  input_required: ["Needs an answer", "accent", "asked"],
  working: ["Running", "", "started"],
  completed: ["Succeeded", "good", "ended"],
  failed: ["Failed", "wrong", "ended"],
  cancelled: ["Cancelled", "", "ended"],
  session: ["Connected", "", "since"],
  tab: ["In another tab", "accent", "asked"],
};

/** The badge of a call or session. `wakes` is when a sleeping call continues. */
export function badgeOf({
  kind,
  status,
  wakes,
}: Pick<Row, "kind" | "status"> & { wakes?: number | undefined }) {
  const [text, tone, when] = BADGES[kind === "call" ? status : kind] ?? [status, "", "changed"];
  return { text: wakes === undefined ? text : "Sleeping", tone, when };
}

/** The headings of the groups, in their order on the page. */
export const GROUPS = {
  waiting: "Waiting for you",
  working: "Running",
  ended: "Ended",
  sessions: "Connected clients",
} as const;
export type Group = keyof typeof GROUPS;

/** The group of a call or session. */
export function groupOf({ kind, status }: Pick<Row, "kind" | "status">): Group {
  if (kind === "session") return "sessions";
  return status === "input_required" ? "waiting" : status === "working" ? "working" : "ended";
}

/** The servlet, unless the tool's name contains it. */
export const shownServlet = ({ name, servlet = "" }: Pick<Row, "name" | "servlet">): string =>
  name.toLowerCase().startsWith(servlet.toLowerCase()) ? "" : servlet;

/** The time that a list shows of a call. */
export const shownTime = ({
  status,
  created,
  updated,
}: Pick<Row, "status" | "created" | "updated">) => (status === "working" ? created : updated);

/** The states by which the list is filtered. */
export const FILTERS = {
  "": "All states",
  waiting: GROUPS.waiting,
  working: GROUPS.working,
  failed: "Failed",
  ended: GROUPS.ended,
} as const;

export interface CallFilter {
  text: string;
  state: string;
}

/** True for a call that has this state and all words of this text. */
export function passes(row: Row, { text, state }: CallFilter): boolean {
  if (state !== "" && state !== groupOf(row) && state !== row.status) return false;
  const { name, servlet = "", arguments: given = "", reason = "" } = row;
  const all = `${name} ${servlet} ${given} ${reason} ${badgeOf(row).text}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
