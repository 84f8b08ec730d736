import { html } from "hono/html";
import { timeTag } from "./components.ts";
import { hiddenFields, shown, type Markup } from "../http/document.ts";
import type { PersonSummary, PersonObjects } from "./person-objects.ts";
import type { HandedOver } from "../calls/task-object.ts";
import type { Tasks } from "../calls/tasks.ts";
import { limits } from "../core/limits.ts";
import { ANONYMOUS } from "../core/model.ts";
import { printable } from "../core/text.ts";
import { wordsPage } from "./ask-page.ts";
import { pageFor, seeOther, type PersonPage, type View, type Visit } from "./view.ts";

/** How often the page looks for more calls where some have ended: one request may reach a thousand objects. */
const CALL_LOOKS = 10;

/** `/account`: what is kept for a person, by names, and the calls that wait for that person or go on without a client. */
export const accountEndpoint = (
  request: Request,
  page: PersonPage,
  answer: (view: View) => Promise<Response>,
): Promise<Response> =>
  pageFor(request, page, {
    answer,
    async work(visit) {
      const { persons, people } = page;
      const { principal } = visit.person;
      if (persons === undefined || principal.name === ANONYMOUS.name)
        return { status: 404, body: wordsPage("No account", NOBODY) };
      const { form } = visit;
      if (form !== undefined && (await people.isForm(form, visit.person, PLACE)))
        return act(form, { visit, page, persons });
      const kept = await keptFor(principal.name, { persons, tasks: page.tasksOf(principal) });
      const token = await people.token(visit.person, PLACE);
      return {
        status: form === undefined ? 200 : 403,
        body: accountPage({ name: principal.name, ...kept, token }),
      };
    },
  });

const summaryOf = (persons: PersonObjects, principal: string) =>
  persons.at(principal, async (object) => object.summary(principal));

/** The secrets and accounts of a person, and the calls that go on. Calls found to have ended are noted, to look for others. */
async function keptFor(
  principal: string,
  { persons, tasks }: { persons: PersonObjects; tasks: Tasks },
): Promise<Pick<PersonSummary, "secrets" | "accounts"> & { open: Open[] }> {
  for (let nth = 1; ; nth++) {
    const { secrets, accounts, calls } = await summaryOf(persons, principal);
    const found = await Promise.all(
      calls.map(async (id) => ({ id, call: await tasks.handedOver(id) })),
    );
    const open = found.filter((one): one is Open => one.call?.called !== undefined);
    const ended = found.filter(({ call }) => call !== undefined && call.called === undefined);
    if (ended.length === 0 || nth === CALL_LOOKS) return { secrets, accounts, open };
    const ids = ended.map(({ id }) => id);
    await persons.at(principal, async (object) => object.noteEnded(ids));
  }
}

const PLACE = "account";

const NOBODY = "This server does not know who is calling, so it keeps nothing for you.";

interface Open {
  id: string;
  call: HandedOver & { called: NonNullable<HandedOver["called"]> };
}

/** Does what a button of the page stands for. */
async function act(
  form: URLSearchParams,
  { visit, page, persons }: { visit: Visit; page: PersonPage; persons: PersonObjects },
): Promise<View> {
  const { request, person } = visit;
  const [principal, servlet, name] = [
    person.principal.name,
    form.get("servlet") ?? "",
    form.get("name") ?? "",
  ];
  switch (form.get("do")) {
    case "forget-me":
      return {
        status: 200,
        body: forgetPage(await page.people.token(person, PLACE)),
      };
    case "forget-all":
      await page.forgetCaller(principal);
      return {
        status: 200,
        body: wordsPage("You are forgotten", "Everything that was kept for you is deleted."),
        isAlone: true,
        headers: { "set-cookie": page.people.signOut(request) },
      };
    case "forget":
      await persons.at(principal, async (object) => object.forget({ servlet, name }));
      return seeOther("/account");
    case "disconnect": {
      const account = form.get("account") ?? "";
      await persons.at(principal, async (object) =>
        object.disconnectAccount(principal, { servlet, account }),
      );
      return seeOther("/account");
    }
    case "replace": {
      const { secrets } = await summaryOf(persons, principal);
      if (!secrets.some((one) => one.servlet === servlet && one.name === name))
        return seeOther("/account");
      return seeOther(await persons.page("", { principal, servlet, name, message: "" }));
    }
    default:
      return seeOther("/account");
  }
}

function accountPage(account: {
  name: string;
  secrets: PersonSummary["secrets"];
  accounts: PersonSummary["accounts"];
  open: Open[];
  token: string;
}): Markup {
  const { name, secrets, accounts, open, token } = account;
  const button = (what: string, label: string, of: Record<string, string> = {}) =>
    html`<form method="post">
      ${hiddenFields({ token, ...of })}
      <button name="do" value="${what}">${label}</button>
    </form>`;
  const waiting = open.filter(({ call }) => Object.keys(call.asks).length > 0);
  const running = open.filter(({ call }) => Object.keys(call.asks).length === 0);
  return html`<h1>Your account</h1>
    <p>You are signed in as <strong>${shown(name)}</strong>.</p>
    <h2>Questions for you</h2>
    ${listOf(
      waiting.map(
        ({ id, call: { called } }) =>
          html`<a href="/ask/${id}">${shown(called.tool)} of ${shown(called.servlet)}</a>`,
      ),
    )}
    <h2>Calls that go on</h2>
    ${listOf(
      running.map(
        ({ call: { called } }) => html`${shown(called.tool)} of ${shown(called.servlet)}`,
      ),
    )}
    <h2>Connected accounts</h2>
    ${listOf(
      accounts.map(
        ({ servlet, account: at, scopes, hosts, connectedAt }) =>
          html`<strong>${shown(at)}</strong> for ${shown(servlet)}, connected
            ${timeTag(connectedAt)}: ${printable(scopes.join(" "))} at
            ${printable(hosts.join(", "))}
            ${button("disconnect", `Disconnect ${shown(at)} from ${shown(servlet)}`, { servlet, account: at })}`,
      ),
    )}
    <h2>Kept secrets</h2>
    ${listOf(
      secrets.map(
        ({ servlet, name: secret, keptAt }) =>
          html`<strong>${shown(secret)}</strong> for ${shown(servlet)}, kept ${timeTag(keptAt)}
            ${button("replace", `Replace ${shown(secret)}`, { servlet, name: secret })}
            ${button("forget", `Delete ${shown(secret)}`, { servlet, name: secret })}`,
      ),
    )}
    <hr />
    ${button("forget-me", "Forget me")}`;
}

const forgetPage = (token: string): Markup =>
  html`<h1>Forget everything?</h1>
    <p class="notice wrong">
      This deletes your secrets, connected accounts, questions, your calls that go on, and all
      memory and files that servlets keep for you. It cannot be undone.
    </p>
    <p>
      Sessions of your clients, and calls beyond the last ${limits.listedCalls}, end by themselves
      within ${limits.taskMs / 86_400_000} days.
    </p>
    <form method="post">
      ${hiddenFields({ token })}
      <button class="primary" name="do" value="forget-all">Delete everything</button>
      <button name="do" value="">Go back</button>
    </form>`;

const listOf = (items: Markup[]): Markup =>
  items.length === 0
    ? html`<p class="dim">None.</p>`
    : html`<ul>
        ${items.map((one) => html`<li>${one}</li>`)}
      </ul>`;
