/** The console's pages Webhooks, for operators, and My webhooks, for callers. */
import { html } from "hono/html";
import { originOf } from "../../kernel/auth/origin.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import { ANONYMOUS } from "../../kernel/core/model.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { mebibytes } from "../../kernel/core/text.ts";
import { shown, type Markup } from "../../kernel/http/document.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import {
  verificationInWords,
  webhookSecretOf,
  type Verification,
} from "../../kernel/servlets/webhook-schema.ts";
import type { ConsolePage } from "../console/pages.ts";
import {
  badge,
  emptyState,
  notice,
  postButton,
  snippet,
  tableOf,
  timeTag,
} from "../../kernel/http/components.ts";
import type { HookRef, ShownDelivery, ShownHooks, ShownRefusals } from "./delivery.ts";
import type { HookObjects } from "./hook-objects.ts";
import { hookUrl } from "./host-functions.ts";
import { limits } from "./limits.ts";

const PATH = "/console/webhooks";
const OWN_PATH = "/console/my-webhooks";

/** A webhook of a served servlet. */
interface ServedHook extends HookRef {
  verify: Verification;
  description?: string | undefined;
}

const hooksIn = async (kernel: Pick<Kernel, "registry">): Promise<ServedHook[]> =>
  (await kernel.registry()).servlets.flatMap(({ name: servlet, manifest: { webhooks = {} } }) =>
    Object.entries(webhooks).map(([hook, one]) => ({ servlet, hook, ...one })),
  );

type PageKernel = Pick<Kernel, "registry" | "deployment" | "recordAct">;

/** The webhooks of servlets, with their last deliveries. */
export const webhooksPage = (kernel: PageKernel, hooks: HookObjects): ConsolePage => ({
  name: "Webhooks",
  path: PATH,
  isForOperators: true,
  async show(raw, _visitor, token) {
    const all = await hooksIn(kernel);
    const some = all.slice(0, limits.shownWebhooks);
    const found = await Promise.all(
      some.map((one) => hooks.ofServlet(one, async (object) => object.shown())),
    );
    const { variables } = kernel.deployment;
    return {
      body: html`<h1>Webhooks</h1>
        <p>
          Addresses at which servlets receive requests of other services. Give the other service the
          address, and the same secret.
        </p>
        ${
          all.length === 0
            ? emptyState("No servlet has webhooks", "docs/webhooks.md says how to write one.")
            : ""
        }
        ${some.map((one, nth) => {
          const name = webhookSecretOf(one.verify);
          const isMissing = name !== undefined && !variables[name];
          return sectionOf(one, {
            url: snippet(hookUrl(originOf(raw), one), `Address of ${one.servlet}/${one.hook}`),
            warning: isMissing ? missing(name) : unverified(one.verify),
            found: found[nth]!,
            token,
          });
        })}
        ${all.length > some.length ? notice(`${all.length - some.length} more are not shown.`) : ""}`,
      extraStyle: STYLE,
    };
  },
  async post(form, by) {
    const { of, task, request } = actIn(form);
    if (form.get("do") !== "again") return PATH;
    const again = await hooks.ofServlet(of, async (object) => object.again(of, task, request));
    if (unsettled(again))
      await kernel.recordAct(by, "page", `Sent a delivery to ${of.servlet}/${of.hook} again.`);
    return PATH;
  },
});

/** The webhooks of the visitor. */
export const ownWebhooksPage = (
  kernel: Pick<Kernel, "registry">,
  hooks: HookObjects,
): ConsolePage => ({
  name: "My webhooks",
  path: OWN_PATH,
  isForOperators: false,
  async show(_raw, { caller }, token) {
    const key = caller && caller.name !== ANONYMOUS.name ? callerKey(caller) : undefined;
    const found = key && (await hooks.ofCaller(key, async (object) => object.shown()));
    const served = await hooksIn(kernel);
    return {
      body: html`<h1>My webhooks</h1>
        ${
          found && found.own.length > 0
            ? found.own.map((own) => {
                const same = (one: HookRef) => one.servlet === own.servlet && one.hook === own.hook;
                const hook = served.find(same) ?? { ...own, verify: { type: "none" as const } };
                return sectionOf(hook, {
                  url: html`<p class="dim">
                    Made ${timeTag(own.made)}. The tool that made it returns its address.
                  </p>`,
                  warning: served.some(same)
                    ? unverified(hook.verify)
                    : notice("The servlet does not have this webhook any more.", "warn"),
                  found: {
                    own: [own],
                    deliveries: found.deliveries.filter(same),
                    refusals: found.refusals.filter(same),
                  },
                  token,
                  acts: postButton(
                    "Revoke",
                    { token, do: "revoke", servlet: own.servlet, hook: own.hook },
                    { about: `${own.servlet}/${own.hook}`, tone: "danger" },
                  ),
                });
              })
            : emptyState(
                "You have no webhooks",
                "Tools make them where other services have something to tell you.",
              )
        }`,
      extraStyle: STYLE,
    };
  },
  async post(form, by) {
    const { of, task, request } = actIn(form);
    const what = form.get("do");
    if (what === "revoke") await hooks.ofCaller(by, async (object) => object.revoke(of));
    if (what === "again")
      unsettled(await hooks.ofCaller(by, async (object) => object.again(of, task, request)));
    return OWN_PATH;
  },
});

const actIn = (form: URLSearchParams): { of: HookRef; task: string; request: string } => ({
  of: { servlet: form.get("servlet") ?? "", hook: form.get("hook") ?? "" },
  task: form.get("task") ?? "",
  request: crypto.randomUUID(),
});

const missing = (name: string): Markup =>
  notice(
    html`<p>
      The secret <code>${shown(name)}</code> is missing, so every delivery is refused. Set it with
      <code>npx wrangler secret put ${shown(name)}</code>, or in <code>.dev.vars</code>.
    </p>`,
    "wrong",
  );

const unverified = ({ type }: Verification): Markup | "" =>
  type === "none" ? notice("It takes deliveries from anybody who knows its address.", "warn") : "";

interface Section {
  url: Markup;
  warning: Markup | "";
  found: ShownHooks;
  token: string;
  /** Buttons for the webhook itself. */
  acts?: Markup;
}

const sectionOf = (
  { servlet, hook, verify, description }: ServedHook,
  { url, warning, found: { deliveries, refusals }, token, acts }: Section,
): Markup =>
  html`<section>
    <h2>${shown(`${servlet}/${hook}`)}</h2>
    ${description === undefined ? "" : html`<p>${shown(description)}</p>`} ${url}
    <p class="dim small">${shown(verificationInWords(verify))}</p>
    ${warning} ${acts ?? ""} ${deliveriesOf(deliveries, token)} ${refusalsOf(refusals)}
  </section>`;

/** The newest deliveries: while runs cannot begin, many more may wait. */
function deliveriesOf(deliveries: readonly ShownDelivery[], token: string): Markup {
  const { shownDeliveries } = limits;
  const others = deliveries.length - shownDeliveries;
  const table = tableOf({
    caption: "Last deliveries",
    columns: ["Received", "Size", "Run", "Action"],
    empty: emptyState("Nothing was received yet"),
    rows: deliveries
      .slice(0, shownDeliveries)
      .map((one) => [
        html`${timeTag(one.at)} ${one.isAgain ? badge("sent again", "accent") : ""}`,
        mebibytes(one.bytes),
        stateOf(one),
        token === "" || one.state === "kept"
          ? ""
          : postButton(
              "Send again",
              { token, do: "again", servlet: one.servlet, hook: one.hook, task: one.task },
              { about: `the delivery to ${one.servlet}/${one.hook}` },
            ),
      ]),
  });
  return others <= 0
    ? table
    : html`${table}
        <p class="dim small">${others} earlier ones are not shown.</p>`;
}

function stateOf({ state, why, task }: ShownDelivery): Markup {
  if (state === "begun") return html`<a href="/ask/${task}">begun</a>`;
  const text = state === "kept" ? badge("waits", "warn") : badge("given up", "wrong");
  return html`<span class="why">${text} ${why === undefined ? "" : shown(why)}</span>`;
}

const REASONS: Readonly<Record<ShownRefusals["refusal"], string>> = {
  unsigned: "without a signature",
  forged: "with a wrong signature",
  stale: "signed too long ago",
  early: "signed in the future",
  "unusable-secret": "while the secret was missing, or of another form",
};

const refusalsOf = (refusals: readonly ShownRefusals[]): Markup | "" =>
  refusals.length === 0
    ? ""
    : html`<p class="small">
        Refused:
        ${refusals.map(
          ({ refusal, count, at }, nth) =>
            html`${nth === 0 ? "" : "; "}${count} ${REASONS[refusal]}, the last ${timeTag(at)}`,
        )}.
      </p>`;

/** Reasons break anywhere. */
const STYLE = ".why { display: block; max-width: 28rem; overflow-wrap: anywhere; }";
