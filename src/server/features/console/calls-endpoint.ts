/** The endpoint `/console/calls`: operators see the calls of all callers, others only their own. */
import { html } from "hono/html";
import { report } from "../../kernel/core/errors.ts";
import { ANONYMOUS, type CallerQuota } from "../../kernel/core/model.ts";
import type { ConsoleServer } from "./console-server.ts";
import { callFilterIn, callQuery, callsPage, callsStyle, noCallsPage } from "./calls.ts";
import { consolePage, type ConsoleSite, type Visitor } from "./frame.ts";
import { PAGES, SIGN_IN_PATH } from "../people/paths.ts";

interface CallsParts extends Pick<ConsoleServer, "usage" | "persons"> {
  visitor: Visitor;
  quota: CallerQuota;
  site: ConsoleSite;
}

/** Returns the page. Redirects a visitor who has not signed in to the sign-in. */
export async function callsEndpoint(
  raw: Request,
  { visitor, quota, site, usage, persons }: CallsParts,
): Promise<Response> {
  const { isOperator, person, caller } = visitor;
  const name = person?.principal.name ?? caller?.name;
  if (!isOperator && (person === undefined || name === ANONYMOUS.name)) {
    if (!site.hasSignIn) return consolePage(site, "Calls", unknown, { status: 403 });
    const location = `${SIGN_IN_PATH}?back=${encodeURIComponent(PAGES.Calls)}`;
    return new Response(null, { status: 303, headers: { location } });
  }
  await quota.admit?.();
  const counters = usage?.();
  if (counters === undefined) return consolePage(site, "Calls", unbound);
  const filter = callFilterIn(raw.url);
  const only = isOperator ? undefined : name!;
  const found = await counters
    .calls(callQuery(filter, only, Date.now()), only)
    .catch((error: unknown) => void report(error));
  if (found === undefined) return consolePage(site, "Calls", unanswered, { status: 503 });
  const hasTasks = found.calls.some((one) => one.task !== null && one.caller === name);
  const listed = hasTasks
    ? await persons?.at(name!, async (object) => object.listed(name!))
    : undefined;
  const open = new Set(listed?.map(({ id }) => id));
  const body = callsPage({ ...found, filter, isForAll: isOperator, open });
  return consolePage(site, "Calls", body, { extraStyle: callsStyle });
}

const unknown = noCallsPage(
  "This server cannot tell your calls from those of other callers",
  html`The server requires no authentication. On your own machine, <code>npm run dev</code> lists
    the calls of all callers.`,
);

const unbound = noCallsPage(
  "Calls are not recorded",
  html`Bind the Durable Object <code>USAGE</code> (class <code>Usage</code>) in
    <code>wrangler.toml</code> and deploy again.`,
);

const unanswered = noCallsPage(
  "The list of calls is not available",
  html`Servlets still run. Reload the page in a minute. The log has the reason (<code
      >npx wrangler tail</code
    >).`,
);
