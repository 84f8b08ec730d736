/** The pages for operators. */
import type { HonoBase } from "hono/hono-base";
import { html } from "hono/html";
import { pageAddresses } from "../../kernel/auth/origin.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { limits, publicLimits, type Limits } from "../../kernel/core/limits.ts";
import { isObject } from "../../kernel/core/model.ts";
import { storageRoom } from "../../kernel/core/storage-room.ts";
import { listedResources } from "../../kernel/servlets/catalog.ts";
import { lackingIn } from "../../kernel/settings/lacking.ts";
import type { ConsoleServer } from "./console-server.ts";
import { consolePage } from "./frame.ts";
import { act, doneText } from "./operate-actions.ts";
import { operatePage, operateStyle, type Overview, type WrongKey } from "./operate.ts";
import { allKeys, counted, type Operated } from "./operator-keys.ts";
import { addPage, forOperators, type ConsolePage, type Visits } from "./pages.ts";
import { PAGES } from "../people/paths.ts";
import { chartStyle, questionIn, usagePage } from "./usage.ts";
import { pageFor, pageStatus, seeOther } from "../people/view.ts";

const PLACE = "operate";

/** The last errors, with a way to the calls of this operator that are listed in Live. */
async function errorsFor({ usage, persons }: Operated, operator: string) {
  const errors = await counted(usage?.().errors());
  const hasOwn = errors?.some(({ caller, task }) => task !== null && caller === operator) === true;
  const listed = hasOwn
    ? await persons?.at(operator, async (object) => object.listed(operator))
    : undefined;
  const open = new Set(listed?.map(({ id }) => id));
  return errors?.map((one) => ({ ...one, isOpen: one.task !== null && open.has(one.task) }));
}

async function overviewOf(
  operated: Operated,
  {
    token,
    done,
    operator,
    raw,
  }: { token: string; done: string | undefined; operator: string; raw: Request },
): Promise<Overview> {
  const { usage: counters, authenticator, keyRecords } = operated;
  const { whole } = await operated.registry();
  const installs = operated.installer?.installs();
  const list = (await installs?.list()) ?? [];
  const versions = new Map(list.map((one) => [one.name, one.version]));
  const installed = await Promise.all(
    list.map(async ({ name }) => ({ name, ...(await installs!.versions(name)) })),
  );
  let problem: string | undefined;
  const catalog = await whole.catalog().catch((error: unknown) => {
    problem = report(error).message;
  });
  const entries = new Map<string, number>();
  const resources = catalog && listedResources(catalog);
  for (const kind of [catalog?.tools.values(), catalog?.prompts.values(), resources]) {
    for (const { servlet } of kind ?? [])
      entries.set(servlet.name, (entries.get(servlet.name) ?? 0) + 1);
  }
  const usage = counters?.();
  const hour = (await counted(usage?.report("hour", "servlet")))?.named;
  const runsOf = new Map(hour?.map(({ name, sums }) => [name, sums]));
  return {
    servlets: whole.servlets.map((one) => {
      const { name, hash, dialect, manifest } = one;
      const { state = "call" } = manifest;
      const version = versions.get(name);
      const ownOr = operated.deployment.own?.has(one) ? "this server" : "the bundle";
      const from = version === undefined ? ownOr : `version ${version}`;
      const runs = hour && (runsOf.get(name) ?? { runs: 0, errors: 0 });
      return { name, hash, dialect, state, from, entries: entries.get(name) ?? 0, runs };
    }),
    isStorageFull: storageRoom.isFull,
    problem,
    installed: operated.installer && installed,
    installable: (await operated.installer?.installable()) ?? [],
    keys: await allKeys(operated),
    makesKeys: keyRecords !== undefined && !authenticator.isOpen,
    acts: await counted(usage?.acts()),
    errors: await errorsFor(operated, operator),
    limits: Object.entries(publicLimits).map(([name, usual]) => ({
      name,
      value: limits[name as keyof Limits],
      usual,
    })),
    setup: {
      // Without a proxy that names a loopback host.
      at: pageAddresses(raw).at(-1) ?? new URL(raw.url),
      publicUrl: operated.settings.PUBLIC_URL,
      lacking: lackingIn(operated.env),
    },
    token,
    done,
  };
}

/** Adds the routes of these pages. */
export function addOperatorPages(app: HonoBase, server: ConsoleServer, visits: Visits): void {
  const { paged, visitorOf, siteFor } = visits;

  addPage(app, usageOf(server), visits);

  if (paged === undefined) return;
  app.on(["GET", "POST"], PAGES.Operate, ({ req: { raw } }) =>
    paged(raw, async (page) => {
      const visitor = await visitorOf(raw);
      const site = siteFor(visitor);
      return pageFor(raw, page, {
        answer: ({ body, ...how }) =>
          consolePage(site, "Operate", body, { ...how, extraStyle: operateStyle }),
        async work(visit) {
          // Right after a sign-in, the page is opened by a new request.
          if (visit.isOld) return seeOther(PAGES.Operate);
          if (!visitor.isOperator) return { status: 403, body: forOperators };
          const { people } = page;
          const { form, person } = visit;
          const token = await people.token(person, PLACE);
          const operator = person.principal.name;
          const done = doneText(new URL(raw.url).searchParams.get("done") ?? "");
          const view = async (status: number, wrong?: WrongKey) => {
            const overview = await overviewOf(server, { token, done, operator, raw });
            return { status, body: operatePage({ ...overview, wrong }) };
          };
          if (form === undefined) return view(200);
          if (!(await people.isForm(form, person, PLACE))) return view(403);
          try {
            return (await act(form, { server, visit, token })) ?? (await view(400));
          } catch (error) {
            const fault = Fault.from(error);
            const { data, message } = fault;
            if (!isObject(data) || typeof data["field"] !== "string") throw error;
            return view(pageStatus(fault), { form, field: data["field"], message });
          }
        },
      });
    }),
  );
}

/** The page with the counters. */
const usageOf = (server: ConsoleServer): ConsolePage => ({
  name: "Usage",
  path: PAGES.Usage,
  isForOperators: true,
  async show({ url }) {
    const usage = server.usage?.();
    if (usage === undefined) return { body: unbound };
    const question = questionIn(url);
    const all = await counted(usage.report(question.over, question.by));
    if (all === undefined) return { body: unanswered, status: 503 };
    return { body: usagePage(question, all, Date.now()), extraStyle: chartStyle };
  },
});

const unbound = html`<h1>Usage</h1>
  <p>
    Nothing is counted: bind the Durable Object <code>USAGE</code> (class <code>Usage</code>) in
    <code>wrangler.toml</code> and deploy again.
  </p>`;

const unanswered = html`<h1>Usage</h1>
  <p>
    The counters do not answer. Servlets run all the same. Reload the page in a minute; the log says
    why (<code>npx wrangler tail</code>).
  </p>`;
