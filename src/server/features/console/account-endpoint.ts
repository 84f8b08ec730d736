/** The page on which people see and delete the data stored for them. */
import { html } from "hono/html";
import { emptyState, postButton, tableOf, timeTag } from "../../kernel/http/components.ts";
import { PAGES } from "../people/paths.ts";
import { groupOf } from "../../kernel/calls/statuses.ts";
import { durationOf } from "../../kernel/core/times.ts";
import { bytesText, count, several } from "./units.ts";
import { hiddenFields, shown, type Markup } from "../../kernel/http/document.ts";
import type { PersonSummary } from "../people/person.ts";
import type { PersonObjects } from "../people/person-objects.ts";
import type { ListedCall } from "../../kernel/calls/listed-calls.ts";
import { report } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import { ANONYMOUS } from "../../kernel/core/model.ts";
import { printable } from "../../kernel/core/text.ts";
import { deadEndPage, wordsPage } from "../people/ask-page.ts";
import { pageFor, seeOther, type PersonPage, type View, type Visit } from "../people/view.ts";

/** `/account`: the names of a person's stored data, and the calls that wait for the person or run without a client. */
export const accountEndpoint = (
  request: Request,
  page: PersonPage,
  answer: (view: View) => Promise<Response>,
): Promise<Response> =>
  pageFor(request, page, {
    answer,
    async work(visit) {
      const { persons, people } = page;
      const { principal, member } = visit.person;
      if (persons === undefined || principal.name === ANONYMOUS.name)
        return { status: 404, body: deadEndPage("No account", NOBODY) };
      const { form } = visit;
      if (form !== undefined && (await people.isForm(form, visit.person, PLACE)))
        return act(form, { visit, page, persons });
      const { name } = principal;
      const kept = await keptFor(name, page, persons);
      const token = await people.token(visit.person, PLACE);
      return {
        status: form === undefined ? 200 : 403,
        body: accountPage({ name: member?.title ?? name, ...kept, token }),
      };
    },
  });

const summaryOf = (persons: PersonObjects, principal: string) =>
  persons.at(principal, async (object) => object.summary(principal));

async function keptFor(
  principal: string,
  { usage }: PersonPage,
  persons: PersonObjects,
): Promise<StoredData> {
  const [summary, listed, states] = await Promise.all([
    summaryOf(persons, principal),
    persons.at(principal, async (object) => object.listed(principal)),
    // Only counts: without them a person can still see and delete the rest.
    usage?.()
      .storedFor(principal)
      .catch((error: unknown) => void report(error)),
  ]);
  return { ...summary, calls: listed.filter(({ kind }) => kind === "call"), states };
}

const PLACE = "account";

const NOBODY = "This server does not know who is calling, so it keeps nothing for you.";

/** Performs a button's action, or asks for confirmation. */
async function act(
  form: URLSearchParams,
  { visit, page, persons }: { visit: Visit; page: PersonPage; persons: PersonObjects },
): Promise<View> {
  const { request, person } = visit;
  const field = (one: string) => form.get(one) ?? "";
  const [servlet, name, account] = [field("servlet"), field("name"), field("account")];
  const principal = person.principal.name;
  const token = await page.people.token(person, PLACE);
  switch (form.get("do")) {
    case "forget-me":
      return { status: 200, body: forgetPage(await keptFor(principal, page, persons), token) };
    case "ask-forget":
      return {
        status: 200,
        body: surePage(
          {
            title: `Delete ${name}?`,
            lines: html`<p>
              ${shown(servlet)} can no longer use it. A call that waits goes on, and asks you for it
              again when it needs it.
            </p>`,
            what: "forget",
            label: `Delete ${shown(name)}`,
          },
          { token, servlet, name },
        ),
      };
    case "ask-disconnect":
      return {
        status: 200,
        body: surePage(
          {
            title: `Disconnect ${account} from ${servlet}?`,
            lines: html`<p>
              ${shown(servlet)} can no longer use this account, and its access is given back to
              ${shown(account)} where that is possible. A call that waits goes on, and asks you to
              connect it again when it needs it.
            </p>`,
            what: "disconnect",
            label: `Disconnect ${shown(account)}`,
          },
          { token, servlet, account },
        ),
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
    case "disconnect":
      await persons.at(principal, async (object) =>
        object.disconnectAccount(principal, { servlet, account }),
      );
      return seeOther("/account");
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

/** All data that the server stores for a person. */
interface StoredData extends PersonSummary {
  /** As Live lists them. */
  calls: ListedCall[];
  /** The bytes stored by each servlet, if known; undefined if they are not counted. */
  states: { servlet: string; bytes: number }[] | undefined;
}

interface AccountPage extends StoredData {
  name: string;
  token: string;
}

function accountPage({ name, token, ...kept }: AccountPage): Markup {
  const { secrets, accounts, calls } = kept;
  const { waiting = [], working = [], ended = [] } = Object.groupBy(calls, groupOf);
  return html`<h1>Your account</h1>
    <p class="lead">You are signed in as <strong>${shown(name)}</strong>.</p>
    ${
      waiting.length > 0 &&
      html`<h2>Waiting for you</h2>
        <ul class="cards">
          ${waiting.map(
            ({ id, name: called, reason = "", updated }) =>
              html`<li class="card">
                <h3>${shown(called)}</h3>
                <p>${shown(reason)} <span class="dim small">${timeTag(updated)}</span></p>
                <p>
                  <a class="button" href="/ask/${id}"
                    >Answer<span class="unseen"> ${shown(called)}</span></a
                  >
                </p>
              </li>`,
          )}
        </ul>`
    }
    <h2>Your calls</h2>
    ${
      calls.length === 0
        ? emptyState("None", "A call that takes longer than its request is listed in Live.")
        : html`<p>
            ${count(waiting.length)} waiting for you, ${count(working.length)} running,
            ${count(ended.length)} ended. <a href="${PAGES.Live}">See them in Live</a>
          </p>`
    }
    <h2>Connected accounts</h2>
    ${tableOf({
      caption: "Connected accounts",
      columns: ["Account", "Used by", "May", "At", "Connected", "Action"],
      empty: emptyState(
        "None",
        "A servlet that needs an account of yours elsewhere asks you to connect it.",
      ),
      rows: accounts.map(({ servlet, account, scopes, hosts, connectedAt }) => [
        shown(account),
        shown(servlet),
        printable(scopes.join(" ")),
        printable(hosts.join(", ")),
        timeTag(connectedAt),
        postButton(
          "Disconnect",
          { token, servlet, account, do: "ask-disconnect" },
          { about: `${account} from ${servlet}`, tone: "danger" },
        ),
      ]),
    })}
    <h2>Kept secrets</h2>
    ${tableOf({
      caption: "Kept secrets",
      columns: ["Secret", "Used by", "Kept", "Action"],
      empty: emptyState("None", "A servlet that needs a key or password of yours asks you for it."),
      rows: secrets.map(({ servlet, name: secret, keptAt }) => {
        const fields = { token, servlet, name: secret };
        return [
          shown(secret),
          shown(servlet),
          timeTag(keptAt),
          html`<span class="acts">
            ${postButton("Replace", { ...fields, do: "replace" }, { about: secret })}
            ${postButton("Delete", { ...fields, do: "ask-forget" }, { about: secret, tone: "danger" })}
          </span>`,
        ];
      }),
    })}
    <section class="card forget" aria-labelledby="forget">
      <h2 id="forget">Forget me</h2>
      <p>Deletes everything that this server keeps for you:</p>
      ${deletedList(kept)}
      <form method="post">
        ${hiddenFields({ token })}
        <button class="danger" name="do" value="forget-me">Forget me</button>
      </form>
    </section>`;
}

/** Everything that is deleted with a person, counted. */
const deletedList = ({ secrets, accounts, calls, states }: StoredData): Markup =>
  html`<ul>
    <li>${several(calls.length, "call")}, with questions and results</li>
    <li>${several(secrets.length, "secret")}</li>
    <li>${several(accounts.length, "connected account")}</li>
    <li>
      Memory and files that servlets keep for
      you${
        states === undefined
          ? ", which this server does not count"
          : states.length === 0
            ? ": none that this server knows of"
            : `: ${several(states.length, "servlet")}, ${states
                .map(({ servlet, bytes }) => `${shown(servlet)} (${bytesText(bytes)})`)
                .join(", ")}`
      }
    </li>
  </ul>`;

/** Asks for confirmation, with the consequences. */
const surePage = (
  { title, lines, what, label }: { title: string; lines: Markup; what: string; label: string },
  fields: Record<string, string>,
): Markup =>
  html`<h1>${shown(title)}</h1>
    ${lines}
    <form method="post" class="acts">
      ${hiddenFields(fields)}
      <button class="danger" name="do" value="${what}">${label}</button>
      <button name="do" value="">Go back</button>
    </form>`;

const forgetPage = (kept: StoredData, token: string): Markup =>
  surePage(
    {
      title: "Forget everything?",
      lines: html`<p>This deletes, at once:</p>
        ${deletedList(kept)}
        <div class="notice wrong">
          <p>
            <strong>It cannot be undone.</strong> Calls that wait end without a result. You are
            signed out.
          </p>
        </div>
        <p class="dim">
          Sessions of your clients, and calls beyond the last ${count(limits.listedCalls)}, end by
          themselves within ${durationOf(limits.taskMs)}. Servlets may have sent what you gave them
          to services outside: that is not deleted.
        </p>`,
      what: "forget-all",
      label: "Delete everything",
    },
    { token },
  );

export const accountStyle = `
  .forget { border-color: var(--wrong); margin-top: 3rem; } form.acts { margin-top: 1rem; }
`;
