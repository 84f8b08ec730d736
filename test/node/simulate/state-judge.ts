import type { Attempt } from "./attempt.ts";
import { sessionOf } from "./clients.ts";
import type { Violation } from "./rules.ts";
import type { Call } from "./scene.ts";

/** The scope in which a call finds what its servlet keeps; undefined where it keeps nothing. */
export function scopeOf(call: Call): string | undefined {
  const { tool, client, caller } = call;
  const servlet = tool.split("-")[0]!;
  const isInSession = client === "session" || client === "session-tasks";
  if (servlet === "kv") return "kv of all";
  if (servlet === "ks" && isInSession) return `ks of ${sessionOf(call)}`;
  return ["ks", "kc", "filing"].includes(servlet) ? `${servlet} of caller ${caller}` : undefined;
}

export const CHANGED = /^The state of this servlet has changed/;

interface Followed {
  said: unknown[];
}

/** The calls that servlets have made in this one, as calls by themselves. */
export function innerAttempts(attempt: Attempt): Attempt[] {
  const said = saidBy(attempt)?.said ?? [];
  return attempt.steps.flatMap(({ do: what, branches = [], tools = [] }, at) => {
    if (what !== "call") return [];
    return branches.flatMap((steps, nth) => {
      const one = (said[at] as unknown[] | undefined)?.[nth];
      const result =
        typeof one === "string"
          ? { isError: true, content: [{ type: "text", text: one }] }
          : { structuredContent: one };
      const inner: Attempt = {
        ...attempt,
        label: `${attempt.label}.${at}.${nth}`,
        tool: tools[nth]!,
        steps,
        isOrphan: one === undefined,
        ...(one !== undefined && { end: { status: "result", result } }),
      };
      if (one === undefined) delete inner.end;
      return [inner, ...innerAttempts(inner)];
    });
  });
}

const keptBy = ({ steps }: Attempt): string[] =>
  steps.flatMap(({ do: what, message = "" }) =>
    what === "keep" || what === "crash" ? [message] : [],
  );

const saidBy = ({ end }: Attempt): Followed | undefined =>
  end?.["result"]?.isError === true ? undefined : end?.["result"]?.structuredContent;

/** The lists of kept messages that a call was given, one for each of its steps `keep`. */
function* lists(attempt: Attempt): Generator<string[]> {
  const { said } = saidBy(attempt) ?? { said: [] };
  for (const [at, step] of attempt.steps.entries()) {
    if (step.do === "keep" && Array.isArray(said[at])) yield said[at] as string[];
  }
}

/** Judges what the calls of one scope have seen of what is kept in it. */
export function judgeState(scope: string, attempts: Attempt[]): Violation[] {
  const violations: Violation[] = [];
  const against = (rule: Violation["rule"], what: string) =>
    violations.push({ rule, what: `${scope}: ${what}` });

  // Kept messages are never removed: the longest list is the newest, and has all others in it.
  const seen = attempts.flatMap((attempt) => [...lists(attempt)]);
  const log = seen.reduce((a, b) => (b.length > a.length ? b : a), []);
  for (const one of seen) {
    if (one.some((message, at) => message !== log[at]))
      against("one history", `${one.join(" ")} and ${log.join(" ")}`);
  }

  const byLabel = Map.groupBy(attempts, ({ label }) => label);
  const commits = new Map<string, number>();
  for (let at = 0; at < log.length;) {
    const label = log[at]!.slice(0, log[at]!.lastIndexOf("."));
    const [attempt] = byLabel.get(label) ?? [];
    if (attempt === undefined) {
      against("scopes share nothing", `${log[at]} is of another scope`);
      break;
    }
    const whole = keptBy(attempt);
    const matched = whole.findIndex((message, nth) => log[at + nth] !== message);
    if (matched > 0 && isStoppedInside(attempt)) whole.length = matched;
    else if (matched >= 0) {
      against("all or nothing", `half of ${label} in ${log.join(" ")}`);
      break;
    }
    commits.set(label, (commits.get(label) ?? 0) + 1);
    at += whole.length;
  }
  // Those of one label are a call and its forks.
  for (const [label, same] of byLabel) {
    const count = commits.get(label) ?? 0;
    if (keptBy(same[0]!).length === 0) continue;
    // Forks whose answers both came too late are one call, the result of which may be a task's, too.
    const ends = same.filter(hasAnswer).map(({ end }) => {
      const { structuredContent, content } = end!["result"];
      return JSON.stringify(structuredContent ?? content);
    });
    const done = new Set(ends).size;
    if (count > same.length) against("state once", `${label} ${count} times in ${log.join(" ")}`);
    if (count < done) against("state kept", `${label} is missing in ${log.join(" ")}`);
    if (count > 0 && same.every(changesNothing))
      against("all or nothing", `${label} was stopped: ${log.join(" ")}`);
    const told = same.find(({ end }) => CHANGED.test(end?.["error"]?.message ?? ""));
    if (told !== undefined && log.every((message) => message.startsWith(`${label}.`)))
      against("state kept", `${label} is told of a change, and there was none`);
  }
  for (const attempt of attempts) tallied(attempt, against);
  return violations;
}

/**
 * True where a call inside could not go on, so that its caller has failed in the middle. Of a call whose own caller has
 * failed after it, nobody knows how it ended.
 */
const isStoppedInside = ({ end, isOrphan, steps }: Attempt): boolean =>
  steps.some(({ do: what }) => what === "call") &&
  (end === undefined
    ? isOrphan
    : /^(error: )?The state of this servlet has changed/.test(
        end["result"]?.content?.[0].text ?? "",
      ));

const hasAnswer = ({ end, isOrphan, steps }: Attempt): boolean => {
  if (isOrphan || end?.["result"] === undefined) return false;
  return end["result"].isError !== true || steps.at(-1)!.do === "fail";
};

/** A call that was stopped before its end, whatever happened to its answer. */
const changesNothing = ({ steps, end }: Attempt): boolean =>
  ["forever", "crash"].includes(steps.at(-1)!.do) || CHANGED.test(end?.["error"]?.message ?? "");

/** A question that names a count must name the one that was true when the call was committed. */
function tallied(attempt: Attempt, against: (rule: Violation["rule"], what: string) => void): void {
  const { said } = saidBy(attempt) ?? { said: [] };
  const keeps = attempt.steps.flatMap(({ do: what }, at) => (what === "keep" ? [at] : []));
  for (const [at, { do: what, message }] of attempt.steps.entries()) {
    if (what !== "tally" || !Array.isArray(said[at])) continue;
    const before = keeps.findLast((one) => one < at);
    const list = said[before ?? keeps[0]!];
    if (!Array.isArray(list)) continue;
    const count = list.length - (before === undefined ? 1 : 0);
    const [asked] = said[at] as [string];
    if (asked !== `${message} after ${count}`)
      against("one history", `${asked}, and there were ${count}`);
  }
}
