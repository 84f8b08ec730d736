/** The pages on which a person gives a servlet a secret, or lets it use an account. */
import { failedSignInBody, pathOf, type FailedRequest } from "./errors.ts";
import { unsettled, type Settled } from "../../kernel/core/settled.ts";
import { html } from "hono/html";
import { hiddenFields, shown, type Markup } from "../../kernel/http/document.ts";
import type { AccountGrant } from "../../kernel/servlets/deployment.ts";
import { limits } from "./limits.ts";
import { printable, printableText } from "../../kernel/core/text.ts";
import { answerWaitingCall } from "./ask-endpoint.ts";
import { deadEndPage, wordsPage } from "./ask-page.ts";
import { OTHER } from "./paths.ts";
import { OWN_CLIENT_CALLBACK } from "./provider-sign-in.ts";
import type { AccountRequest, PersonObjects, SecretRequest } from "./person-objects.ts";
import {
  notForYou,
  ownPath,
  pageFor,
  refusal,
  seeOther,
  type PersonPage,
  type View,
} from "./view.ts";

/** The token of the page's form, and the reason why a previous answer was rejected. */
interface FormState {
  token: string;
  complaint: string | undefined;
}

/** A page for a secret or account that a servlet asks a person for. The sealed token in its address says which. */
interface CredentialPage<Requested> {
  /** Opens the token; undefined for one that is not of this server, or too old. */
  open(persons: PersonObjects): Promise<Requested | undefined>;
  body(asked: Requested, shown: FormState): Markup;
  /** The complaint about a form from before its sender has signed in again. */
  again: string;
  /** Takes an answer; a string is the complaint with which the page is shown again. */
  take(
    form: URLSearchParams,
    asked: Requested,
    persons: PersonObjects,
  ): Promise<View | { status: number; complaint: string } | "accept" | "decline">;
  /** The page after an answer for which no call waits. */
  done(action: "accept" | "decline"): Markup;
}

/** Shows such a page to the person who is asked. With `?call=ID`, that call waits for it, and its page follows. */
const credentialEndpoint = <Requested extends { principal: string }>(
  request: Request,
  token: string,
  page: PersonPage,
  { open, body, again, take, done }: CredentialPage<Requested>,
): Promise<Response> =>
  pageFor(request, page, {
    async work(visit) {
      const { persons, people } = page;
      const { person, form } = visit;
      const asked = persons && (await open(persons));
      if (persons === undefined || asked?.principal !== person.principal.name)
        return notForYou(people, request);
      const own = await people.token(person, token);
      const show = (status: number, complaint?: string): View => ({
        status,
        body: body(asked, { token: own, complaint }),
      });
      if (form === undefined) return show(200);
      if (!(await people.isForm(form, person, token))) return show(403, again);
      const taken = await take(form, asked, persons);
      if (typeof taken !== "string")
        return "complaint" in taken ? show(taken.status, taken.complaint) : taken;
      const next = await answerWaitingCall(taken, pathOf(request), { page, visit });
      return next ?? { status: 200, body: done(taken) };
    },
  });

/** `/secret/TOKEN`: takes a secret that a servlet asks a person for. */
export const secretEndpoint = (request: Request, token: string, page: PersonPage) =>
  credentialEndpoint<SecretRequest>(request, token, page, {
    open: (persons) => persons.secretRequest(token),
    body: secretPage,
    again: "You have signed in anew since. Enter the secret again.",
    async take(form, { principal, servlet, name }, persons) {
      if (form.get("decision") === "decline") return "decline";
      const secret = (form.get("secret") ?? "").trim();
      const { secretCharacters, keptSecrets } = limits;
      if (secret === "") return { status: 422, complaint: "Enter the secret, or decline." };
      if (secret.length > secretCharacters)
        return {
          status: 422,
          complaint: `The secret is too long (limit ${secretCharacters} characters).`,
        };
      const isKept = await persons.at(principal, async (object) =>
        object.keep(principal, { servlet, name }, secret),
      );
      if (isKept) return "accept";
      return {
        status: 409,
        complaint: `You have ${keptSecrets} kept secrets, as many as you may. Delete one at /account first.`,
      };
    },
    done: (action) =>
      action === "accept"
        ? wordsPage(
            "The secret is kept",
            "Accept in your client, if it still asks. You can close this page.",
          )
        : wordsPage("Nothing is kept", "Decline in your client, too. You can close this page."),
  });

/** The provider that a person is shown. */
interface ShownProvider {
  host: string;
  /** The path of the redirect URI. */
  callback: string;
}

type AccountAtProvider = AccountRequest & { provider: ShownProvider };

/** The provider in ACCOUNTS, else the servlet's issuer; undefined if there is neither. */
function providerOf(
  { account, issuer }: AccountGrant,
  { providers, people }: PersonPage,
): ShownProvider | undefined {
  const provider = providers.get(account);
  if (provider !== undefined) return { host: provider.host, callback: people.callbackOf(provider) };
  return issuer === undefined
    ? undefined
    : { host: new URL(issuer).host, callback: OWN_CLIENT_CALLBACK };
}

/** `/connect/TOKEN`: asks a person to let a servlet use an account, and leads to its provider. */
export const connectEndpoint = (request: Request, token: string, page: PersonPage) =>
  credentialEndpoint<AccountAtProvider>(request, token, page, {
    async open(persons) {
      const asked = await persons.accountRequest(token);
      const provider = asked && providerOf(asked.grant, page);
      return provider && { ...asked, provider };
    },
    body: connectPage,
    again: "You have signed in anew since. Choose again.",
    async take(form, { principal, grant, provider }, persons) {
      if (form.get("decision") !== "accept") {
        await persons.at(principal, async (object) => object.declineAccount(principal, grant));
        return "decline";
      }
      const from = {
        redirectUri: new URL(provider.callback, request.url).href,
        back: pathOf(request),
      };
      const address = await persons.at(principal, async (object) =>
        object.beginAccount(principal, grant, from),
      );
      return leadTo(provider, unsettled(address as Settled<string>));
    },
    done: connected,
  });

/** `/account/sign-in`: leads to a provider, at which a person signs in. */
export const signInEndpoint = (request: Request, page: PersonPage): Promise<Response> =>
  pageFor(request, page, {
    async open() {
      const { searchParams } = new URL(request.url);
      const nth = Number(searchParams.get("provider") ?? NaN);
      const { url, cookie } = await page.people.beginAt(nth, request, {
        back: ownPath(request),
        isOther: searchParams.has(OTHER),
      });
      return seeOther(url, { "set-cookie": cookie });
    },
    work: async () => notForYou(page.people, request),
  });

/** `/account/callback`: takes a provider's answer, once, and only from the person who was sent there. */
export const callbackEndpoint = (request: Request, page: PersonPage): Promise<Response> =>
  pageFor(request, page, {
    /** Somebody who has signed in at a provider comes back. */
    async open() {
      const signed = await page.people.finish(request);
      if (signed === undefined) return undefined;
      if ("refusal" in signed) {
        const bodyFor = (failure: FailedRequest) => failedSignInBody(failure, signed);
        return { ...refusal(signed.refusal, bodyFor), name: "You were not signed in" };
      }
      const headers = { "set-cookie": signed.cookie };
      const cookie = signed.deletion;
      if (signed.back !== undefined) return { ...seeOther(signed.back, headers), cookie };
      const body = wordsPage("You are signed in", "Go back to where you came from, and try again.");
      return { status: 200, body, headers, cookie };
    },
    async work(visit) {
      const { persons } = page;
      const { name } = visit.person.principal;
      // Not repeated if the object dies: a code is valid once.
      const finished = await persons?.once(name, async (object) =>
        object.finishAccount(name, request.url),
      );
      if (finished === undefined) return { status: 403, body: deadEndPage("Not for you", FOREIGN) };
      const { back, isConnected, failure } = finished;
      if (failure !== undefined) return failed(back, failure);
      const action = isConnected ? "accept" : "decline";
      const next = await answerWaitingCall(action, back, { page, visit });
      return next ?? { status: 200, body: connected(action) };
    },
  });

const FOREIGN =
  "This answer of a provider is not to anything that you have begun here, or it came too late. If somebody sent you a link, they may have tried to connect an account to theirs. Open the link of your own call again.";

const failed = (back: string, message: string): View => ({
  status: 502,
  body: html`<h1>The account was not connected</h1>
    <p class="notice wrong" role="alert">${shown(message)}</p>
    <p><a href="${back}">Try again</a>. The call that needs the account still waits.</p>`,
});

/**
 * Browsers apply a page's policy to all redirects after its form, and a provider may redirect to other hosts. So
 * this is a page of its own.
 */
const leadTo = ({ host }: ShownProvider, address: string): View => ({
  status: 200,
  headers: { refresh: `0; url=${address}` },
  body: html`<h1>Connect an account</h1>
    <p><a href="${address}">Continue to ${shown(host)}</a></p>`,
});

const connected = (action: "accept" | "decline"): Markup =>
  action === "accept"
    ? wordsPage("The account is connected", "The call goes on. You can close this page.")
    : wordsPage(
        "The account is not connected",
        "The servlet is told that you have declined. You can close this page.",
      );

/** A line that is never shortened, since the person agrees to it. */
const line = (text: string): Markup => html`<dd>${printable(text)}</dd>`;

function connectPage(
  { grant, provider }: AccountAtProvider,
  { token, complaint }: FormState,
): Markup {
  const { servlet, account, scopes, hosts, resource } = grant;
  return html`<h1>Connect an account</h1>
    <p>
      <strong>${shown(servlet)}</strong>, a servlet of this server, asks to use your account at
      <strong>${shown(provider.host)}</strong> (${shown(account)}) in your calls.
    </p>
    <dl>
      <dt>What it may do</dt>
      ${scopes.length === 0 ? html`<dd>What the provider lets any app do</dd>` : scopes.map(line)}
      ${
        resource !== undefined &&
        html`<dt>Which server the access is for</dt>
          ${line(`${new URL(resource).host} (${resource})`)}`
      }
      <dt>Where it may send requests with it</dt>
      ${hosts.map(line)}
    </dl>
    <p>
      You sign in at ${shown(provider.host)}. This server keeps the access that it grants, and shows
      it neither to the servlet nor to your client or a model. You can disconnect it at
      <a href="/account">your account</a>.
    </p>
    ${complaint === undefined ? "" : html`<p class="notice wrong" role="alert">${complaint}</p>`}
    <form method="post">
      ${hiddenFields({ token })}
      <button class="primary" name="decision" value="accept">
        Continue to ${shown(provider.host)}
      </button>
      <button name="decision" value="decline">Decline</button>
    </form>`;
}

function secretPage(
  { servlet, name, message }: SecretRequest,
  { token, complaint }: FormState,
): Markup {
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
    ${complaint === undefined ? "" : html`<p class="notice wrong" role="alert" id="wrong">${complaint}</p>`}
    <form method="post">
      ${hiddenFields({ token })}
      <label for="secret">${shown(name)}</label>
      <input
        id="secret"
        name="secret"
        type="password"
        autocomplete="off"
        required
        ${complaint === undefined ? "" : html`aria-invalid="true" aria-describedby="wrong"`}
      />
      <button class="primary" name="decision" value="accept">Keep this secret</button>
      <button name="decision" value="decline" formnovalidate>Decline</button>
    </form>`;
}
