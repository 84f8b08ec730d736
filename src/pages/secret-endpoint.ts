import { html } from "hono/html";
import { shown, type Markup } from "../http/document.ts";
import type { PersonObjects, AskedSecret } from "./person-objects.ts";
import { limits } from "../core/limits.ts";
import { printableText } from "../core/text.ts";
import { answerWaitingCall } from "./ask-endpoint.ts";
import { wordsPage } from "./ask-page.ts";
import { notForYou, pageFor, pathOf, type PersonPage, type View, type Visit } from "./view.ts";

/**
 * `/secret/TOKEN`: takes a secret that a servlet asks a person for. With `?call=ID`, that call waits for it, and its
 * page is the next.
 */
export const secretEndpoint = (
  request: Request,
  token: string,
  page: PersonPage,
): Promise<Response> =>
  pageFor(request, page, {
    async work(visit) {
      const { persons, people } = page;
      const asked = await persons?.asked(token);
      if (persons === undefined || asked?.principal !== visit.person.principal.name)
        return notForYou(people, request);
      const form = await people.token(visit.person, token);
      const show = (status: number, complaint?: string): View => ({
        status,
        body: secretPage({ asked, token: form, complaint }),
      });
      if (visit.form === undefined) return show(200);
      if (!(await people.isToken(visit.form.get("token") ?? "", visit.person, token)))
        return show(403, "You have signed in anew since. Enter the secret again.");
      return take(visit.form, { asked, persons, page, visit, show });
    },
  });

interface Taking {
  asked: AskedSecret;
  persons: PersonObjects;
  page: PersonPage;
  visit: Visit;
  show(status: number, complaint: string): View;
}

async function take(form: URLSearchParams, taking: Taking): Promise<View> {
  const { asked, persons, show } = taking;
  if (form.get("decision") === "decline")
    return (
      (await answerWaitingCall("decline", pathOf(taking.visit.request), taking)) ?? {
        status: 200,
        body: wordsPage("Nothing is kept", "Decline in your client, too. You can close this page."),
      }
    );
  const secret = (form.get("secret") ?? "").trim();
  const { secretCharacters, keptSecrets } = limits;
  if (secret === "") return show(422, "Enter the secret, or decline.");
  if (secret.length > secretCharacters)
    return show(422, `The secret is too long (limit ${secretCharacters} characters).`);
  const { principal, servlet, name } = asked;
  const isKept = await persons.at(principal, async (object) =>
    object.keep(principal, { servlet, name }, secret),
  );
  if (!isKept)
    return show(
      409,
      `You have ${keptSecrets} kept secrets, as many as you may. Delete one at /account first.`,
    );
  return (
    (await answerWaitingCall("accept", pathOf(taking.visit.request), taking)) ?? {
      status: 200,
      body: wordsPage(
        "The secret is kept",
        "Accept in your client, if it still asks. You can close this page.",
      ),
    }
  );
}

const secretPage = (given: {
  asked: AskedSecret;
  token: string;
  complaint: string | undefined;
}): Markup => {
  const { asked, token, complaint } = given;
  const { servlet, name, message } = asked;
  return html`<h1>A secret is needed</h1>
    <p>
      <strong>${shown(servlet)}</strong>, a servlet of this server, asks for
      <strong>${shown(name)}</strong>.
    </p>
    ${message === "" ? "" : html`<p class="text">${printableText(message)}</p>`}
    <p>
      It is kept sealed for ${shown(servlet)} alone, which may use it in your calls. Neither your
      client nor a model sees it. You can replace or delete it at
      <a href="/account">your account</a>.
    </p>
    ${complaint === undefined ? "" : html`<p class="note wrong" role="alert" id="wrong">${complaint}</p>`}
    <form method="post">
      <input type="hidden" name="token" value="${token}" />
      <label for="secret">${shown(name)}</label>
      <input
        id="secret"
        name="secret"
        type="password"
        autocomplete="off"
        required
        ${complaint === undefined ? "" : html`aria-invalid="true" aria-describedby="wrong"`}
      />
      <button class="allow" name="decision" value="accept">Keep this secret</button>
      <button name="decision" value="decline" formnovalidate>Decline</button>
    </form>`;
};
