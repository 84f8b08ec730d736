/** The pages of a person's calls, and the stream of their changes. */
import { whileGranted } from "../../kernel/mcp/wire/subscription.ts";
import { demandOwnOrigin, isLocal } from "../../kernel/auth/origin.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { eventHeaders, streamResponse } from "../../kernel/http/body.ts";
import { beginningOf } from "../../kernel/core/text.ts";
import { ANONYMOUS } from "../../kernel/core/model.ts";
import { deadEndPage } from "../people/ask-page.ts";
import type { Person } from "../people/people.ts";
import { pageFor, seeOther, type PersonPage, type View, type Visit } from "../people/view.ts";
import type { PersonObjects } from "../people/person-objects.ts";
import { LIVE_PATH, livePage, unlistedPage } from "./live.ts";
import { callPage, forkPage } from "./timeline.ts";
import { groupOf } from "../../kernel/calls/statuses.ts";

/** Makes the response of a page. */
type Frame = (view: View) => Promise<Response>;

/** `/console/live`: all calls and sessions of a person. */
export const liveEndpoint = (request: Request, page: PersonPage, answer: Frame) =>
  pageFor(request, page, {
    answer,
    async work({ person }) {
      const { persons, by } = listFor(request, page, person) ?? {};
      if (persons === undefined || by === undefined) return unlisted();
      const calls = await persons.at(by, async (object) => object.listed(by));
      const { searchParams } = new URL(request.url);
      const [text, state] = ["text", "state"].map((name) => searchParams.get(name) ?? "");
      const filter = { text: beginningOf(text!, 200), state: state! };
      return { status: 200, body: livePage(calls, filter, page.usage !== undefined) };
    },
  });

/** `/console/live/ID`: one call. */
export const callEndpoint = (request: Request, id: string, page: PersonPage, answer: Frame) =>
  pageFor(request, page, { answer, work: (visit) => call({ ...visit, id, page }) });

/**
 * `/console/live-events`: an event stream of the list and its changes. It ends when the credentials of its reader expire, are
 * revoked or change. Throws `unauthorized`, `forbidden`.
 */
export async function eventsEndpoint(request: Request, page: PersonPage): Promise<Response> {
  demandOwnOrigin(request);
  const { people, person } = page;
  const list = person && listFor(request, page, person);
  if (person === undefined || list === undefined) throw signInAgain();
  const body = await list.persons.at(list.by, async (object) => object.watch(list.by));
  const identify = async () => {
    const reader = await people.of(request);
    if (reader === undefined) throw signInAgain();
    return reader.principal;
  };
  const watched = whileGranted(body, { principal: person.principal, identify });
  const headers = new Headers(eventHeaders);
  headers.set("cache-control", "no-store");
  return streamResponse(watched, headers);
}

const signInAgain = () => new Fault("unauthorized", "Sign in again to see your calls.");

/** The number of questions that wait for a person. */
export async function questionsFor(
  request: Request,
  persons: PersonObjects | undefined,
  person: Person,
): Promise<number> {
  const { persons: objects, by } = listFor(request, { persons }, person) ?? {};
  if (objects === undefined || by === undefined) return 0;
  const calls = await objects.at(by, async (object) => object.listed(by));
  return calls.filter((one) => groupOf(one) === "waiting").length;
}

/** Where this person's calls are listed; undefined for an anonymous person who is not on this machine. */
function listFor(
  request: Request,
  { persons }: Pick<PersonPage, "persons">,
  { principal: { name } }: Person,
): { persons: PersonObjects; by: string } | undefined {
  const isKnown = name !== ANONYMOUS.name || isLocal(request);
  return persons && isKnown ? { persons, by: name } : undefined;
}

const unlisted = (): View => ({ status: 403, body: unlistedPage() });

async function call(visit: Visit & { id: string; page: PersonPage }): Promise<View> {
  const { request, person, form, isOld, id, page } = visit;
  const { people } = page;
  const tasks = page.tasksOf(person.principal);
  const token = await people.token(person, PLACE, id);
  const show = async (
    status: number,
    replayed?: Parameters<typeof callPage>[0]["replayed"],
  ): Promise<View> => {
    const timeline = (await tasks.look(id, { what: "timeline" }))?.timeline;
    return timeline === undefined
      ? { status: 404, body: deadEndPage("No such call", GONE) }
      : { status, body: callPage({ id, timeline, token, replayed }) };
  };
  if (form === undefined || isOld) return show(200);
  // The fork's id is chosen before the confirmation, so that a form sent twice makes one call.
  const [as] = form.getAll("as");
  const words = [PLACE, id, ...(as === undefined ? [] : [as])];
  if (!(await people.isForm(form, person, ...words))) return show(403);
  const numberIn = (field: string) => {
    const text = form.get(field) ?? "";
    return /^\d{1,5}$/.test(text) ? Number(text) : undefined;
  };
  const [at, forkNow] = [numberIn("at"), numberIn("fork-now")];
  const act = form.get("do");
  if (act === "replay" && at !== undefined) {
    const { replay: outcome } = (await tasks.look(id, { what: "replay", entries: at })) ?? {};
    return show(200, outcome && { entries: at, outcome });
  }
  if (act === "fork" && at !== undefined) {
    const own = tasks.newId();
    const agreed = await people.token(person, PLACE, id, own);
    return { status: 200, body: forkPage(id, at, { as: own, token: agreed }) };
  }
  if (forkNow !== undefined && as !== undefined) {
    const { origin } = new URL(request.url);
    // A fork is a new call and needs the person's proven scopes; looking at one's own call does not.
    const own = page.tasksOf(people.callerOf(person));
    const looked = await own.look(id, { what: "fork", entries: forkNow, origin, id: as });
    return looked?.fork === undefined ? show(404) : seeOther(`${LIVE_PATH}/${looked.fork}`);
  }
  if (act === "cancel") await tasks.cancel(id, true);
  return seeOther(`${LIVE_PATH}/${id}`);
}

const PLACE = "console call";

const GONE =
  "It may belong to somebody else, or its data has been deleted. Calls of clients with sessions are deleted as soon as they end.";
