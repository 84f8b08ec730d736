import type { Ask } from "../asks.ts";
import { documentOf, type Markup } from "../auth/document.ts";
import { textWithin } from "../body.ts";
import type { HandedOver } from "../durable/task-object.ts";
import type { Tasks } from "../durable/tasks.ts";
import { Fault, httpStatus, report, retryAfterOf } from "../errors.ts";
import { limits } from "../limits.ts";
import { isObject, type CallerQuota, type Json } from "../model.ts";
import { FORMATS } from "../schema/formats.ts";
import { brief } from "../schema/run.ts";
import { checkOf } from "../servlets/checks.ts";
import { questionPage, schemaIn, signInPage, wordsPage, type Complaint } from "./ask-page.ts";
import { contentOf, fieldsOf, typedIn, type Field, type Typed } from "./fields.ts";
import type { People, Person } from "./people.ts";

/** Dependencies of the page of a call that waits for a person. */
interface AskPage {
  people: People;
  title: string;
  /** Who has sent the request, if that is proven. */
  person: Person | undefined;
  /** The tasks of this person. */
  tasks: Tasks | undefined;
  /** Counts the request; absent if calls are not limited. */
  admit: CallerQuota["admit"];
}

/** A page, before it is a response. */
interface View {
  status: number;
  body: Markup;
  headers?: Record<string, string>;
}

/** `/ask/ID`: shows the questions of a call to the person whose call it is, one after the other. */
export async function askEndpoint(request: Request, id: string, page: AskPage): Promise<Response> {
  const { status, body, headers } = await viewOf(request, id, page).catch(refusal);
  return documentOf({ title: page.title }, body, { status, headers: new Headers(headers) });
}

async function viewOf(request: Request, id: string, page: AskPage): Promise<View> {
  demandOwnPage(request);
  await page.admit?.();
  const form = request.method === "POST" ? await formOf(request) : undefined;
  const entered = form?.get("credential");
  if (typeof entered === "string") return signIn(request, entered, page);
  const { people, person, tasks } = page;
  if (person === undefined || tasks === undefined) {
    const { proof } = people;
    return proof === undefined
      ? { status: 403, body: wordsPage("This page cannot be opened here", NO_PROOF) }
      : { status: form ? 403 : 200, body: signInPage(proof, form && SIGNED_OUT) };
  }
  const found = await tasks.handedOver(id);
  if (found === undefined) return notForYou(people);
  return form === undefined
    ? show(found, { id, people, person })
    : take(form, found, { id, people, person, tasks, request });
}

const NO_PROOF =
  "This server requires no authentication, so pages open on this machine only, or where AUTH is none.";
const SIGNED_OUT =
  "It is some time since you have proven who you are. Do so again, and answer then.";

/** The same for calls of others and for those that do not exist. */
function notForYou({ proof }: People): View {
  const why =
    "No question waits here for you. The call may have ended long ago, or it is somebody else's: then do not answer for them.";
  if (proof === undefined) return { status: 404, body: wordsPage("Not for you", why) };
  return { status: 404, body: signInPage(proof, `Not for you: ${why}`) };
}

async function signIn(request: Request, entered: string, { people }: AskPage): Promise<View> {
  const { proof } = people;
  if (proof === undefined)
    throw new Fault("invalid_request", "Nobody signs in here. Open the link again.");
  const cookie = await people.signIn(request, entered);
  if (cookie === undefined)
    return { status: 403, body: signInPage(proof, `That is no ${proof}. Enter it again.`) };
  return seeOther(request, { "set-cookie": cookie });
}

/** The page again, by GET: reloading it sends nothing twice. */
const seeOther = ({ url }: Request, headers: Record<string, string> = {}): View => ({
  status: 303,
  body: wordsPage("Thank you"),
  headers: { ...headers, location: new URL(url).pathname },
});

/** What a page is about. */
interface Visit {
  id: string;
  people: People;
  person: Person;
}

/** An answer that is shown again, since it was not taken. */
interface Again {
  status: number;
  typed?: Typed;
  complaint: Complaint;
  /** The ask that it is for; the first that is open by default. */
  key?: string;
}

/** The first open question, or how the call is. */
async function show(
  found: HandedOver,
  { id, people, person }: Visit,
  again?: Again,
): Promise<View> {
  const { asks, called, expires, view } = found;
  const open = Object.entries(asks);
  const [key, ask] = open.find(([one]) => one === again?.key) ?? open[0] ?? [];
  if (key === undefined || ask === undefined) {
    const complaints = again?.complaint.general ?? [];
    return {
      status: again?.status ?? 200,
      body: wordsPage("Thank you", ...complaints, goesOn(view)),
    };
  }
  const fields = fieldsIn(ask);
  const defaults = new Map(fields.map((field) => [field.id, field.default]));
  const body = questionPage({
    called,
    ask,
    others: open.length - 1,
    fields,
    typed: (key === again?.key ? again.typed : undefined) ?? defaults,
    complaint: again?.complaint,
    key,
    token: await people.token(person, id, key),
    expires,
  });
  return { status: again?.status ?? 200, body };
}

const goesOn = ({ status }: HandedOver["view"]): string =>
  status === "working"
    ? "The call goes on. You can close this page, or reload it to see whether there is another question."
    : "The call has ended. You can close this page.";

const fieldsIn = (ask: Ask): Field[] => fieldsOf(schemaIn(ask) ?? {});

/** Takes an answer; shows it again, with what is wrong, unless it fits. */
async function take(
  form: URLSearchParams,
  found: HandedOver,
  visit: Visit & { tasks: Tasks; request: Request },
): Promise<View> {
  const { id, people, person, tasks, request } = visit;
  const key = form.get("ask") ?? "";
  const ask = Object.hasOwn(found.asks, key) ? found.asks[key] : undefined;
  const refused = (status: number, why: string) =>
    show(found, visit, {
      status,
      complaint: { general: [why], fields: new Map() },
      ...(ask && { key, typed: typedIn(fieldsIn(ask), form) }),
    });
  if (!(await people.isToken(form.get("token") ?? "", person, id, key)))
    return refused(403, FOREIGN);
  if (ask === undefined) return refused(409, USED);
  const fields = fieldsIn(ask);
  const typed = typedIn(fields, form);
  const result = resultOf(ask, form.get("decision"), contentOf(fields, typed));
  if (result === undefined) return refused(400, "Choose one of the buttons.");
  const complaint = complaintOf(ask, result, fields);
  if (complaint !== undefined) return show(found, visit, { status: 422, typed, complaint, key });
  const taken = await tasks.reply(id, key, result);
  if (taken === undefined) return notForYou(people);
  if (taken !== false && taken.wrong !== undefined) return refused(422, taken.wrong);
  const next = await nextOf(found, visit);
  if (next === undefined) return notForYou(people);
  if (taken !== false) return seeOther(request);
  return show(next, visit, { status: 409, complaint: { general: [USED], fields: new Map() } });
}

/** The call once it has gone on: when it asks again or has ended, or after `limits.nextAskMs`. */
async function nextOf(
  found: HandedOver,
  { id, tasks }: { id: string; tasks: Tasks },
): Promise<HandedOver | undefined> {
  const until = Date.now() + limits.nextAskMs;
  let next: HandedOver | undefined = found;
  do {
    next = await tasks.handedOver(id, { since: next.updated, ms: until - Date.now() });
  } while (next?.view.status === "working" && Date.now() < until);
  return next;
}

const FOREIGN =
  "This form is not of this page, or you have signed in anew since. Check the answer, and send it again.";
const USED = "That question is not open any more: it was answered before, or its time is over.";

/** What the servlet is given; undefined without a decision. */
function resultOf(ask: Ask, decision: string | null, content: Json): Json | undefined {
  if (decision === "decline") return { action: "decline" };
  if (decision !== "accept") return undefined;
  return schemaIn(ask) === undefined ? { action: "accept" } : { action: "accept", content };
}

/** What is wrong with an answer; undefined if it fits. Throws `servlet_failed` for a schema that cannot be used. */
function complaintOf(ask: Ask, { content }: Json, fields: readonly Field[]): Complaint | undefined {
  const schema = schemaIn(ask);
  if (schema === undefined || !isObject(content)) return undefined;
  const check = checkOf(schema, { name: "requestedSchema", formats: FORMATS });
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

/**
 * Throws `forbidden` for a frame, a subresource, or a form of another site. A form has the origin of its page; browsers
 * say so, or at least whether it is the same.
 */
function demandOwnPage({ method, headers, url }: Request): void {
  const dest = headers.get("sec-fetch-dest") ?? "document";
  const origin = headers.get("origin");
  const isOwn =
    origin === null || (URL.canParse(origin) && new URL(origin).host === new URL(url).host);
  const site = headers.get("sec-fetch-site") ?? "same-origin";
  if (
    dest !== "document" ||
    (method === "POST" && (!isOwn || (site !== "same-origin" && site !== "none")))
  )
    throw new Fault(
      "forbidden",
      "This page opens in a tab of its own, and takes answers from its own form only. Open the link again.",
    );
}

async function formOf({ headers, body }: Request): Promise<URLSearchParams> {
  if (!headers.get("content-type")?.startsWith("application/x-www-form-urlencoded"))
    throw new Fault(
      "unsupported_media_type",
      "This was not sent by the form of this page. Open the link again.",
    );
  const text = await textWithin(body, limits.bodyBytes);
  if (text !== undefined) return new URLSearchParams(text);
  throw new Fault(
    "too_large",
    `The answer is too large (limit ${limits.bodyBytes} bytes). Go back and make it shorter.`,
  );
}

function refusal(error: unknown): View {
  const fault = report(error);
  const after = retryAfterOf(fault);
  return {
    status: httpStatus(fault) === 200 ? 400 : httpStatus(fault),
    body: wordsPage("This did not work", fault.message),
    ...(after !== undefined && { headers: { "retry-after": after } }),
  };
}
