import { unsettled, type Settled } from "../core/settled.ts";
import { html } from "hono/html";
import { shown, type Markup } from "../http/document.ts";
import type { Provider } from "../auth/account-provider.ts";
import type { AskedAccount } from "./person-objects.ts";
import { printable } from "../core/text.ts";
import { answerWaitingCall } from "./ask-endpoint.ts";
import { wordsPage } from "./ask-page.ts";
import { CALLBACK_PATH } from "./issuer-sign-in.ts";
import { notForYou, pageFor, pathOf, seeOther, type PersonPage, type View } from "./view.ts";

/**
 * `/connect/TOKEN`: asks a person to let a servlet use an account, and leads to its provider. With `?call=ID`, that call
 * waits for it.
 */
export const connectEndpoint = (
  request: Request,
  token: string,
  page: PersonPage,
): Promise<Response> =>
  pageFor(request, page, {
    async work(visit) {
      const { persons, people } = page;
      const { principal } = visit.person;
      const asked = await persons?.askedAccount(token);
      const provider = asked && page.providers.get(asked.grant.account);
      if (persons === undefined || provider === undefined || asked?.principal !== principal.name)
        return notForYou(people, request);
      const form = await people.token(visit.person, token);
      const show = (status: number, complaint?: string): View => ({
        status,
        body: connectPage({ asked, provider, token: form, complaint }),
      });
      if (visit.form === undefined) return show(200);
      if (!(await people.isToken(visit.form.get("token") ?? "", visit.person, token)))
        return show(403, "You have signed in anew since. Choose again.");
      const { grant } = asked;
      const path = pathOf(request);
      if (visit.form.get("decision") === "accept") {
        const from = { redirectUri: new URL(CALLBACK_PATH, request.url).href, back: path };
        const address = await persons.at(principal.name, async (object) =>
          object.beginAccount(principal.name, grant, from),
        );
        return leadTo(provider, unsettled(address as Settled<string>));
      }
      await persons.at(principal.name, async (object) =>
        object.declineAccount(principal.name, grant),
      );
      return (await answerWaitingCall("decline", path, { page, visit })) ?? done(false);
    },
  });

/** `/account/sign-in`: leads to an issuer, at which a person signs in. */
export const signInEndpoint = (request: Request, page: PersonPage): Promise<Response> =>
  pageFor(request, page, {
    async open() {
      const { searchParams } = new URL(request.url);
      const [issuer, back] = [Number(searchParams.get("issuer")), searchParams.get("back") ?? "/"];
      const { url, cookie } = await page.people.beginAt(issuer, request, back);
      return seeOther(url, { "set-cookie": cookie });
    },
    work: async () => notForYou(page.people, request),
  });

/** `/account/callback`: takes a provider's answer, once, and only from the person who was sent there. */
export const callbackEndpoint = (request: Request, page: PersonPage): Promise<Response> =>
  pageFor(request, page, {
    /** A user of an issuer at which this server is a client comes back signed in. */
    async open() {
      const signed = await page.people.finish(request);
      if (signed === undefined) return undefined;
      const headers = { "set-cookie": signed.cookie };
      if (signed.back !== undefined) return seeOther(signed.back, headers);
      return { status: 200, body: wordsPage("You are signed in", "Open the link again."), headers };
    },
    async work(visit) {
      const { persons } = page;
      const { name } = visit.person.principal;
      const { searchParams } = new URL(request.url);
      // Not again if the object dies: a code is valid once.
      const finished = await persons?.once(name, async (object) =>
        object.finishAccount(name, searchParams.toString()),
      );
      if (finished === undefined) return { status: 403, body: wordsPage("Not for you", FOREIGN) };
      const { back, isConnected, failure } = finished;
      if (failure !== undefined) return failed(back, failure);
      const action = isConnected ? "accept" : "decline";
      return (await answerWaitingCall(action, back, { page, visit })) ?? done(isConnected);
    },
  });

const FOREIGN =
  "This answer of a provider is not to anything that you have begun here, or it came too late. If somebody sent you a link, they may have tried to connect an account to theirs. Open the link of your own call again.";

const failed = (back: string, message: string): View => ({
  status: 502,
  body: html`<h1>The account was not connected</h1>
    <p class="note wrong" role="alert">${shown(message)}</p>
    <p><a href="${back}">Try again</a>. The call that needs the account still waits.</p>`,
});

/**
 * Browsers apply the policy of a page to all places to which its form leads, and a provider may lead on to others. So
 * this is a page of its own.
 */
const leadTo = ({ host }: Provider, address: string): View => ({
  status: 200,
  headers: { refresh: `0; url=${address}` },
  body: html`<h1>Connect an account</h1>
    <p><a href="${address}">Continue to ${shown(host)}</a></p>`,
});

const done = (isConnected: boolean): View => ({
  status: 200,
  body: isConnected
    ? wordsPage("The account is connected", "The call goes on. You can close this page.")
    : wordsPage(
        "The account is not connected",
        "The servlet is told that you have declined. You can close this page.",
      ),
});

/** Whole, since the person agrees to it. */
const line = (text: string): Markup => html`<dd>${printable(text)}</dd>`;

function connectPage(given: {
  asked: AskedAccount;
  provider: Provider;
  token: string;
  complaint: string | undefined;
}): Markup {
  const { asked, provider, token, complaint } = given;
  const { servlet, account, scopes, hosts } = asked.grant;
  return html`<h1>Connect an account</h1>
    <p>
      <strong>${shown(servlet)}</strong>, a servlet of this server, asks to use your account at
      <strong>${shown(provider.host)}</strong> (${shown(account)}) in your calls.
    </p>
    <dl>
      <dt>What it may do</dt>
      ${scopes.length === 0 ? html`<dd>What the provider lets any app do</dd>` : scopes.map(line)}
      <dt>Where it may send requests with it</dt>
      ${hosts.map(line)}
    </dl>
    <p>
      You sign in at ${shown(provider.host)}. This server keeps the access that it grants, and shows
      it neither to the servlet nor to your client or a model. You can disconnect it at
      <a href="/account">your account</a>.
    </p>
    ${complaint === undefined ? "" : html`<p class="note wrong" role="alert">${complaint}</p>`}
    <form method="post">
      <input type="hidden" name="token" value="${token}" />
      <button class="allow" name="decision" value="accept">
        Continue to ${shown(provider.host)}
      </button>
      <button name="decision" value="decline">Decline</button>
    </form>`;
}
