/** Apps of members: the choice of a provider, the consent, and what an app may do. */
import { OAuthError, type AuthRequest } from "@cloudflare/workers-oauth-provider";
import { html } from "hono/html";
import { hexDigestNow } from "../../kernel/core/digest.ts";
import { Fault, httpStatus } from "../../kernel/core/errors.ts";
import { OPERATOR_SCOPE } from "../../kernel/core/model.ts";
import { hiddenFields, shown } from "../../kernel/http/document.ts";
import { commonScopes } from "../../kernel/servlets/scopes.ts";
import { providerLinks } from "../people/ask-page.ts";
import { OTHER } from "../people/paths.ts";
import type { MemberAccess, Members } from "../people/members.ts";
import type { People, Person } from "../people/people.ts";
import { refused } from "../sign-in/authorization-refusals.ts";
import { appPage, consentForm } from "../sign-in/consent-page.ts";
import type { AppRequest, AppServer, MemberApps, MemberGrant } from "../sign-in/member-apps.ts";
import { limits } from "./limits.ts";

/** The query parameter by which the owner gets the form for the passphrase. */
const AS_OWNER = "as_owner";

/** Binds the form's token to its purpose. */
const CONSENT = "consent";

export function memberApps(
  server: AppServer,
  { members, people }: { members: Members; people: People },
): MemberApps {
  /** The member whose browser has sent the request; undefined if no member has signed in there. */
  async function memberAt(
    request: Request,
  ): Promise<(Person & { member: MemberAccess }) | undefined> {
    const person = await people.of(request);
    return person?.member && { ...person, member: person.member };
  }

  /** What a member may do. Throws `unauthorized` if the access to which the grant is bound has ended; `unavailable`. */
  async function accessOf(
    { member, seal }: Pick<MemberGrant, "member" | "seal">,
    isFresh: boolean,
  ) {
    const access = await members.access(member, { isFresh });
    if (access.seal === seal) return access;
    throw new Fault("unauthorized", "This sign-in has ended. Sign in again.");
  }

  /** The scopes of an app for a member: what both the app has asked for and the member's roles grant. */
  function scopesWithin(
    asked: readonly string[] | undefined,
    { scopes, isOperator }: MemberAccess,
  ): readonly string[] | undefined {
    const both = commonScopes(asked, scopes, server.scopes);
    const operates = isOperator && asked?.includes(OPERATOR_SCOPE) === true;
    return operates ? [...(both ?? []), OPERATOR_SCOPE] : both;
  }

  /** The requested scopes that the member's roles grant at least in part. Throws the refusal if there are none. */
  function grantedTo(member: MemberAccess, asked: AuthRequest, request: Request): string[] {
    const known = server.granted(asked, request);
    const scopes = known.filter((scope) => scopesWithin([scope], member)?.length !== 0);
    if (known.length > 0 && scopes.length === 0)
      throw refused(
        asked,
        "access_denied",
        `The app asks for ${known.join(" ")} only, none of which your role at this server has. Ask whoever runs it`,
      );
    return scopes;
  }

  /** The page on which a person chooses a provider. Nothing is granted here, so it needs no handle. */
  async function choose(app: AppRequest): Promise<Response> {
    const { pathname, searchParams } = new URL(app.request.url);
    const isOther = searchParams.has(OTHER);
    searchParams.delete(OTHER);
    const asked = await server.asked(app);
    const scopes = server.granted(asked, app.request);
    const back = `${pathname}?${searchParams.toString()}`;
    const titles = members.providers.map(({ title }) => title);
    return appPage(await server.described(asked, app, scopes), {
      isForMember: true,
      body: html`<h2>Sign in first</h2>
        ${
          titles.length === 0 &&
          html`<p class="notice wrong">
            Nobody can sign in now. Whoever runs this server finds the reason in its log.
          </p>`
        }
        ${providerLinks(titles, { back, isOther })}
        ${
          server.hasOwner &&
          html`<p class="dim">
            <a href="${back}&${AS_OWNER}=1">Use the passphrase of this server</a>
          </p>`
        }`,
    });
  }

  /** The consent page for a member who has signed in. */
  async function consent(app: AppRequest, person: Person & { member: MemberAccess }) {
    const asked = await server.asked(app);
    const scopes = grantedTo(person.member, asked, app.request);
    await server.limiter.page(app.request, person.principal.name);
    const { handle, headers } = await app.oauth.beginConsent(asked);
    const token = await people.token(person, CONSENT, handle);
    return appPage(await server.described(asked, app, scopes), {
      isForMember: true,
      headers,
      body: consentForm(handle, {
        ends: "you sign out",
        fields: html`<p>You are signed in as <strong>${shown(person.member.title)}</strong>.</p>
          ${hiddenFields({ token })}`,
        others: html`<button name="decision" value="switch">Use another account</button>`,
      }),
    });
  }

  return {
    async ask(app) {
      // The owner gets in whatever is known of members, also while their provider is down.
      if (server.hasOwner && new URL(app.request.url).searchParams.has(AS_OWNER)) return undefined;
      const person = await memberAt(app.request);
      return person === undefined ? choose(app) : consent(app, person);
    },
    async decide(app, form) {
      const { oauth, request } = app;
      if (form.get("decision") === "switch") {
        const location = `${request.url}&${OTHER}=1`;
        const headers = { location, "set-cookie": people.signOut(request) };
        return new Response(null, { status: 303, headers });
      }
      if (form.get("decision") !== "allow") return undefined;
      if (!form.has("token")) return server.hasOwner ? undefined : choose(app);
      const handle = form.get("handle") ?? "";
      const person = await memberAt(request);
      if (person === undefined) return choose(app);
      // Somebody else has signed in with this browser since the page was shown.
      if (!(await people.isForm(form, person, CONSENT, handle))) return consent(app, person);
      const { name } = person.principal;
      const { seal } = person.member;
      const access = await accessOf({ member: name, seal }, true);
      const { request: asked, headers } = await oauth.approveConsent(request, handle);
      await server.limiter.pageAllowed(request, name);
      const scope = grantedTo(access, asked, request);
      const props: MemberGrant = { member: name, seal, isLimited: scope.length > 0 };
      const userId = hexDigestNow(name);
      return server.complete(asked, oauth, { headers, scope, props, userId });
    },
    async holder(grant, held) {
      const access = await accessOf(grant, false);
      const scopes = scopesWithin(grant.isLimited ? held : undefined, access);
      // So that an operator can end the access soon, and the provider is asked when the last check gets old.
      const expires = Date.now() + limits.memberMemoryMs;
      return { principal: { name: grant.member, ...(scopes && { scopes }) }, expires };
    },
    async demand(grant, isFresh) {
      try {
        await accessOf(grant, isFresh);
      } catch (error) {
        const fault = Fault.from(error);
        const isOver = fault.code === "unauthorized";
        const code = isOver ? "invalid_grant" : "temporarily_unavailable";
        const statusCode = isOver ? 400 : httpStatus(fault);
        throw new OAuthError(code, { description: fault.message, statusCode });
      }
    },
  };
}
