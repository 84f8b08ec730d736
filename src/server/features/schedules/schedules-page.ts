/** The console's page Schedules: when servlets run by themselves, and how their runs went. */
import { html } from "hono/html";
import { withoutSecrets } from "../../kernel/calls/shown-arguments.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { isServletPrincipal, servletPrincipal } from "../../kernel/core/model.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { shortened } from "../../kernel/core/text.ts";
import { shown, type Markup } from "../../kernel/http/document.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Visitor } from "../console/frame.ts";
import type { ConsolePage } from "../console/pages.ts";
import { badge, emptyState, postButton, tableOf, timeTag } from "../../kernel/http/components.ts";
import { PAGES } from "../people/paths.ts";
import type { SchedulesOf } from "./functions.ts";
import type { ScheduledRun, ShownSchedule } from "./schedule.ts";
import type { Timing } from "./times.ts";

const PATH = "/console/schedules";

/** A schedule with the caller key of its owner, and the statuses of its runs by their tasks. */
interface Owned extends ShownSchedule {
  owner: string;
  statuses: ReadonlyMap<string, string | undefined>;
}

type Server = Pick<Kernel, "registry" | "recordAct" | "unattended">;

export function schedulesPage(server: Server, of: SchedulesOf): ConsolePage {
  /** The schedules of this owner, with the statuses of their newest runs. */
  const ownedBy = async (owner: string): Promise<Owned[]> =>
    Promise.all(
      (await of(owner).list()).map(async (one) => {
        const [last] = one.runs.flatMap(({ task }) => task ?? []);
        const status = last && (await server.unattended?.statusOf(one.by, last));
        return { ...one, owner, statuses: new Map(last ? [[last, status]] : []) };
      }),
    );
  return {
    name: "Schedules",
    path: PATH,
    isForOperators: false,
    async show(_raw, { caller, isOperator }, token) {
      const { servlets } = await server.registry();
      // A webhook of a servlet makes schedules of the servlet.
      const running = servlets.filter(({ manifest }) => manifest.schedules ?? manifest.webhooks);
      const ofServlets = isOperator
        ? await Promise.all(running.map(({ name }) => ownedBy(servletPrincipal(name).name)))
        : [];
      const own = caller && callerKey(caller);
      const yours = own === undefined ? [] : await ownedBy(own);
      return {
        body: html`<h1>Schedules</h1>
          ${
            isOperator &&
            html`<h2>Of servlets</h2>
              ${tableFor("Schedules of servlets", ofServlets.flat(), { token, empty: NONE_OF_SERVLETS })}
              <h2>Yours</h2>`
          }
          ${tableFor("Your schedules", yours, { token, empty: NONE_OF_CALLER })}`,
        extraStyle: style,
      };
    },
    async post(form, by, visitor) {
      const [owner, servlet, id, what] = ["owner", "servlet", "id", "do"].map(
        (name) => form.get(name) ?? "",
      ) as [string, string, string, string];
      const isOfServlet = isServletPrincipal(owner);
      if (!mayChange(owner, visitor))
        throw new Fault("forbidden", "This schedule belongs to somebody else. Reload the page.");
      const object = of(owner);
      if (what === "run") unsettled(await object.runNow(servlet, id));
      else if (what === "pause") await object.pause(servlet, id);
      else if (what === "resume") unsettled(await object.resume(servlet, id));
      else if (what === "cancel") await object.cancel(servlet, id);
      else throw new Fault("invalid_params", "There is no such button. Reload the page.");
      if (isOfServlet) await server.recordAct(by, "page", `Schedule ${id} of ${servlet}: ${what}.`);
      return PATH;
    },
  };
}

/** Callers change their own schedules, operators also those of servlets. */
const mayChange = (owner: string, { caller, isOperator }: Visitor): boolean =>
  isServletPrincipal(owner) ? isOperator : caller !== undefined && callerKey(caller) === owner;

const style = `
  .runs { min-width: 12rem; max-width: 24rem; overflow-wrap: anywhere; } td button { white-space: nowrap; }
`;

const NONE_OF_SERVLETS = emptyState(
  "No servlet has schedules",
  html`A servlet declares <code>schedules</code> in its code or its manifest.`,
);
const NONE_OF_CALLER = emptyState(
  "You have no schedules",
  "Ask an agent to have a tool called later, or regularly: tools that can do that say so.",
);

function tableFor(
  caption: string,
  all: readonly Owned[],
  { token, empty }: { token: string; empty: Markup },
): Markup {
  return tableOf({
    caption,
    columns: ["Schedule", "When", "Next", "Runs", "Action"],
    empty,
    rows: all.map((one) => [
      html`${shown(one.id)}<br /><span class="dim small">${shown(calledBy(one))}</span>`,
      inWords(one.timing),
      nextOf(one),
      runsOf(one),
      token === "" ? "" : buttonsFor(one, token),
    ]),
  });
}

/** What a schedule runs, in words. */
function calledBy({ servlet, tool, arguments: input = {} }: ShownSchedule): string {
  if (tool === undefined) return servlet;
  return `${servlet}: ${tool} ${shortened(withoutSecrets(input), 200)}`;
}

function inWords(timing: Timing): Markup {
  if ("every" in timing) return html`every ${timing.every / 60_000} min`;
  const zone = timing.timeZone ?? "UTC";
  const rule = "cron" in timing ? timing.cron : timing.at;
  return html`<code>${shown(rule)}</code><br /><span class="dim small">${shown(zone)}</span>`;
}

function nextOf({ next, paused }: ShownSchedule): Markup | string {
  if (paused !== undefined)
    return html`${badge("paused", "warn")}<br /><span class="dim small">${shown(paused)}</span>`;
  return next === undefined ? "over" : timeTag(next);
}

function runsOf({ runs, statuses }: Owned): Markup | string {
  const [last] = runs;
  if (last === undefined) return "none yet";
  return html`<details class="runs">
    <summary>${runInWords(last, statuses)}</summary>
    <ul class="small">
      ${runs.slice(1).map((run) => html`<li>${runInWords(run, statuses)}</li>`)}
    </ul>
  </details>`;
}

function runInWords(
  { at, due, missed, task, why }: ScheduledRun,
  statuses: Owned["statuses"],
): Markup {
  const more = missed > 0 ? `, for ${missed + 1} due times, the last of them` : "";
  if (task === undefined)
    return html`${timeTag(at)} ${badge("not begun", "wrong")}
    ${shown(why ?? "")}${more && html`${more} ${timeTag(due)}`}`;
  const status = statuses.get(task);
  const path = status === "input_required" ? `/ask/${task}` : `${PAGES.Live}/${task}`;
  const says = status === "input_required" ? "asks: answer it" : (status ?? "details");
  return html`${timeTag(at)}${more && html`${more} ${timeTag(due)}`} <a href="${path}">${says}</a>`;
}

function buttonsFor({ owner, servlet, id, paused, isDeclared }: Owned, token: string): Markup {
  const button = (label: string, what: string, tone: "danger" | "" = "") =>
    postButton(label, { token, do: what, owner, servlet, id }, { about: id, tone });
  return html`<div class="acts">
    ${button("Run now", "run")}
    ${paused === undefined ? button("Pause", "pause") : button("Resume", "resume")}
    ${isDeclared ? "" : button("Cancel", "cancel", "danger")}
  </div>`;
}
