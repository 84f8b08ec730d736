import { pathOf } from "./errors.ts";
import type { Ask } from "../../kernel/core/asks.ts";
import { ownPathIn } from "./person-objects.ts";
import type { HandedOver } from "../../kernel/calls/task-object.ts";
import type { Tasks } from "../../kernel/calls/task-object.ts";
import { limits } from "./limits.ts";
import { isObject, type Json } from "../../kernel/core/model.ts";
import { jsonIn, wellFormedJson } from "../../kernel/core/text.ts";
import { viewIn } from "../../kernel/core/views.ts";
import { FORMATS } from "../../kernel/schema/formats.ts";
import { brief } from "../../kernel/schema/run.ts";
import { checkOf } from "../../kernel/servlets/checks.ts";
import { questionPage, schemaIn, wordsPage, type Complaint } from "./ask-page.ts";
import {
  contentOf,
  fieldsOf,
  typedIn,
  type Field,
  type Typed,
} from "../../kernel/schema/fields.ts";
import type { People, Person } from "./people.ts";
import { notForYou, pageFor, seeOther, type PersonPage, type View, type Visit } from "./view.ts";

/**
 * `/ask/ID`: shows the questions of a call to its person, one after the other; also of a call whose client
 * can be asked, which then does not answer itself.
 */
export const askEndpoint = (request: Request, id: string, page: PersonPage): Promise<Response> =>
  pageFor(request, page, {
    keeps: (field) => field === "ask" || /^f\d+$/.test(field),
    async work({ person, form, isOld }) {
      const { people } = page;
      const tasks = page.tasksOf(person.principal);
      const found = await tasks.handedOver(id, ANY);
      if (found === undefined) return notForYou(people, request);
      const call = { id, people, person, request };
      if (form === undefined) return show(found, call);
      if (!isOld) return take(form, found, { ...call, tasks });
      return show(found, call, answerBeforeSignIn(form, found));
    },
  });

/** The answer sent before its sender signed in again; undefined if its question is no longer open. */
function answerBeforeSignIn(form: URLSearchParams, found: HandedOver): RejectedAnswer | undefined {
  const key = form.get("ask") ?? "";
  const ask = openAsk(found, key);
  if (ask === undefined) return undefined;
  const complaint = { general: [SIGNED_IN], fields: new Map() };
  return { status: 200, typed: typedIn(fieldsIn(ask), form), complaint, key };
}

const SIGNED_IN = "You have signed in again. Check your answer, and send it.";

/** The subject of a page. */
interface Call {
  id: string;
  people: People;
  person: Person;
  request: Request;
}

const ANY = { isAny: true };

/** A rejected answer, which is shown again. */
interface RejectedAnswer {
  status: number;
  typed?: Typed;
  complaint: Complaint;
  /** The ask that it answers; by default the first open one. */
  key?: string;
}

/** The first open question, or the state of the call. */
async function show(found: HandedOver, call: Call, rejected?: RejectedAnswer): Promise<View> {
  const { id, people, person, request } = call;
  const { asks, called, expires, view } = found;
  // Asks that only a client can answer (sampling, roots) have no page.
  const open = Object.entries(asks).filter(([, { method }]) => method === "elicitation/create");
  const [key, ask] = open.find(([one]) => one === rejected?.key) ?? open[0] ?? [];
  if (key === undefined || ask === undefined) {
    const complaints = rejected?.complaint.general ?? [];
    return {
      status: rejected?.status ?? 200,
      body: wordsPage("Thank you", ...complaints, goesOn(view)),
    };
  }
  const path = ownPathIn(ask.params["url"], new URL(request.url).origin);
  if (path !== undefined) return seeOther(`${path}?call=${id}`);
  const fields = fieldsIn(ask);
  const defaults = new Map(fields.map((field) => [field.id, field.default]));
  const body = questionPage({
    called,
    ask,
    others: open.length - 1,
    fields,
    typed: (key === rejected?.key ? rejected.typed : undefined) ?? defaults,
    complaint: rejected?.complaint,
    key,
    token: await people.token(person, id, key),
    expires,
  });
  return { status: rejected?.status ?? 200, body, isFramed: viewIn(ask.params) !== undefined };
}

const goesOn = ({ status }: HandedOver["view"]): string =>
  status === "input_required"
    ? "The call waits for its client, which alone can answer. You can close this page."
    : status === "working"
      ? "The call goes on. You can close this page, or reload it to see whether there is another question."
      : "The call has ended. You can close this page.";

const openAsk = ({ asks }: HandedOver, key: string): Ask | undefined =>
  Object.hasOwn(asks, key) ? asks[key] : undefined;

const fieldsIn = (ask: Ask): Field[] => fieldsOf(schemaIn(ask) ?? {});

/** Accepts an answer, or shows it again with its errors. */
async function take(
  form: URLSearchParams,
  found: HandedOver,
  visit: Call & { tasks: Tasks },
): Promise<View> {
  const { id, people, person, tasks, request } = visit;
  const key = form.get("ask") ?? "";
  const ask = openAsk(found, key);
  const refused = (status: number, why: string) =>
    show(found, visit, {
      status,
      complaint: { general: [why], fields: new Map() },
      ...(ask && { key, typed: typedIn(fieldsIn(ask), form) }),
    });
  if (!(await people.isForm(form, person, id, key))) return refused(403, FOREIGN);
  if (ask === undefined) return refused(409, USED);
  const fields = fieldsIn(ask);
  const typed = typedIn(fields, form);
  const content = contentBy(form.get("content")) ?? contentOf(fields, typed);
  const result = resultOf(ask, form.get("decision"), content);
  if (result === undefined) return refused(400, "Choose one of the buttons.");
  const complaint = complaintOf(ask, result, fields);
  if (complaint !== undefined) return show(found, visit, { status: 422, typed, complaint, key });
  const taken = await tasks.reply(id, key, result);
  if (taken === undefined) return notForYou(people, request);
  if (taken !== false && taken.wrong !== undefined) return refused(422, taken.wrong);
  const next = await nextOf(found, visit);
  if (next === undefined) return notForYou(people, request);
  if (taken !== false) return seeOther(pathOf(request));
  return show(next, visit, { status: 409, complaint: { general: [USED], fields: new Map() } });
}

/** The call after an answer: once it asks again or has ended, or after `limits.nextAskMs`. */
async function nextOf(
  found: HandedOver,
  { id, tasks }: { id: string; tasks: Tasks },
): Promise<HandedOver | undefined> {
  const until = Date.now() + limits.nextAskMs;
  let next: HandedOver | undefined = found;
  let since: number;
  do {
    since = next.updated;
    // Bounded, since `until` is far away if the clock is set back.
    const ms = Math.min(until - Date.now(), limits.nextAskMs);
    next = await tasks.handedOver(id, { ...ANY, since, ms });
  } while (next?.view.status === "working" && next.updated > since && Date.now() < until);
  return next;
}

/**
 * Answers the call that waits for a page of a secret or an account, at this path with its `?call=ID`, and leads to the
 * call's own page; undefined if no call waits for it.
 */
export async function answerWaitingCall(
  action: "accept" | "decline",
  path: string,
  { page, visit: { request, person } }: { page: PersonPage; visit: Visit },
): Promise<View | undefined> {
  const { origin, pathname, searchParams } = new URL(path, request.url);
  const id = searchParams.get("call");
  const tasks = page.tasksOf(person.principal);
  const found = id === null ? undefined : await tasks.handedOver(id, ANY);
  if (id === null || found === undefined) return undefined;
  const [key] =
    Object.entries(found.asks).find(
      ([, { params }]) => ownPathIn(params["url"], origin) === pathname,
    ) ?? [];
  if (key !== undefined) await tasks.reply(id, key, { action });
  await nextOf(found, { id, tasks });
  return seeOther(`/ask/${id}`);
}

/** The answer of a view, sent as JSON by the page's script; undefined if the form was used. */
function contentBy(text: string | null): Json | undefined {
  const content = text === null ? undefined : jsonIn(wellFormedJson(text));
  return isObject(content) ? content : undefined;
}

const FOREIGN =
  "This form is not of this page, or you have signed in anew since. Check the answer, and send it again.";
const USED = "That question is not open any more: it was answered before, or its time is over.";

/** The answer for the servlet; undefined without a decision. */
function resultOf(ask: Ask, decision: string | null, content: Json): Json | undefined {
  if (decision === "decline") return { action: "decline" };
  if (decision !== "accept") return undefined;
  return schemaIn(ask) === undefined ? { action: "accept" } : { action: "accept", content };
}

/** The errors of an answer; undefined if it fits. Throws `servlet_failed` for a schema that cannot be used. */
function complaintOf(ask: Ask, { content }: Json, fields: readonly Field[]): Complaint | undefined {
  const schema = schemaIn(ask);
  if (schema === undefined || !isObject(content)) return undefined;
  const check = checkOf(schema, { name: "requestedSchema", formats: FORMATS, isInput: true });
  const issues = check(content);
  if (issues === undefined) return undefined;
  const wrong = new Map<string, string>();
  const general: string[] = [];
  for (const { path, message } of issues) {
    const field = fields.find(({ name }) => brief(name) === path[0]);
    if (field === undefined) general.push(`${path.join(".")} ${message}`);
    else wrong.set(field.id, [wrong.get(field.id), message].filter(Boolean).join("; "));
  }
  return { general, fields: wrong };
}
