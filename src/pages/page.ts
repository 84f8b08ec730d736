/** The start page, for people who open the server in a browser. */
import { html } from "hono/html";
import { shown, type Markup } from "../http/document.ts";
import { connectSection, connectStyle, type Endpoint } from "./connect.ts";
import { exploreSection, type Offers } from "./explore.ts";
import { viewStyle } from "./framed-view.ts";
import { consolePage, PAGES, SIGN_IN_PATH, type ConsoleSite } from "./frame.ts";

/** A profile as pages show it. */
export interface ShownProfile {
  name: string;
  title: string;
  description: string | undefined;
}

interface StartPage extends Omit<ConsoleSite, "profile"> {
  /** The profile that the page is of; undefined for the whole server. */
  profile: ShownProfile | undefined;
  /** All profiles, with their URLs. */
  profiles: readonly (ShownProfile & { url: string })[];
  /** True for a visitor who has signed in, and may not use the profile. */
  isDenied: boolean;
  endpoint: Endpoint;
  /** The entries that the visitor may use; undefined where authentication is required and nobody has signed in. */
  offers: Offers | undefined;
  /** True if anybody may call and AUTH is not set to none. */
  isExposed: boolean;
  /** How clients authenticate; empty where they need not. */
  proof: keyof typeof PROOFS | "";
}

/** Advice about a server that anybody may call. */
export const HOW_TO_CLOSE =
  "Create an API key (npm run keys -- create NAME) or a passphrase (npm run passphrase), or set AUTH to none if public access is intended.";

const PROOFS = {
  key: "Requires an API key. Clients send it as Authorization: Bearer.",
  "sign-in": "Requires sign-in. Your client opens the sign-in page.",
};

export function startPage(page: StartPage): Promise<Response> {
  const { endpoint, offers, isExposed, proof, hasSignIn, profile, profiles, isDenied } = page;
  const body = html`${
    profile === undefined
      ? html`<p>A remote MCP server. Connect your client, see what it offers, and try it here.</p>`
      : html`<p>
          The profile <strong>${shown(profile.title)}</strong> of
          <a href="${PAGES.Start}">this server</a>. ${shown(profile.description ?? "")}
        </p>`
  }
  ${proof && html`<p>${PROOFS[proof]}</p>`}
  ${isExposed ? html`<p class="note warn">This server requires no authentication. ${HOW_TO_CLOSE}</p>` : ""}
  ${connectSection(endpoint)}
  ${profile === undefined && profiles.length > 0 ? profilesSection(profiles) : ""}
  ${offers === undefined ? hidden(hasSignIn, isDenied) : exploreSection(offers)}`;
  return consolePage({ ...page, profile: profile?.name }, "Start", body, {
    extraStyle: style + viewStyle + connectStyle(endpoint),
  });
}

/** Each has a page of its own, with the snippets of all clients. */
const profilesSection = (profiles: StartPage["profiles"]): Markup =>
  html`<section aria-labelledby="profiles">
    <h2 id="profiles">Profiles</h2>
    <p>Parts of this server, each with a URL of its own.</p>
    ${profiles.map(
      ({ name, title, description, url }) =>
        html`<h3><a href="${url}">${shown(title)}</a></h3>
          ${description === undefined ? "" : html`<p>${shown(description)}</p>`}
          <pre
            data-copy
            aria-label="URL of the profile ${name}"
            tabindex="0"
          ><code>${url}</code></pre>`,
    )}
  </section>`;

const hidden = (hasSignIn: boolean, isDenied: boolean): Markup =>
  html`<section aria-labelledby="explore">
    <h2 id="explore">Explore</h2>
    <p>
      ${
        isDenied
          ? "You may not use this profile."
          : hasSignIn
            ? html`<a href="${SIGN_IN_PATH}">Sign in</a> to see what you may use here.`
            : "Connect a client to see what this server offers."
      }
    </p>
  </section>`;

const style = `
  .tabs { border: 0; padding: 0; margin: 1rem 0 .4rem; display: flex; flex-wrap: wrap; gap: .4rem; }
  .tabs label { position: relative; } .tabs input { position: absolute; opacity: 0; margin: 0; inset: 0; }
  .tabs span { display: block; padding: .35rem .8rem; border: 1px solid var(--edge); border-radius: 2rem; }
  .tabs input:checked + span { background: var(--ink); color: var(--paper); border-color: var(--ink); }
  .tabs input:focus-visible + span { outline: 3px solid var(--link); outline-offset: 2px; }
  .way { display: none; } ol { padding-left: 1.4rem; margin: .4rem 0; }
  .servlet { border-top: 1px solid var(--line); padding: 1.2rem 0 .6rem; } .servlet h3 { margin: 0; }
  .anchor { text-decoration: none; color: var(--dim); }
  .entry { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; }
  .entry > summary { padding: .55rem .8rem; cursor: pointer; overflow-wrap: anywhere; }
  .entry > summary code { font-weight: 600; }
  .first { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .entry[open] .first { display: none; }
  .inside { padding: 0 .9rem .5rem; scroll-margin-top: 4rem; }
  .copied { position: relative; } .copied pre { padding-right: 6rem; min-height: 3rem; }
  .copied .copy { position: absolute; top: .45rem; right: .45rem; }
  .qr { width: 12rem; height: 12rem; background: #fff; padding: .7rem; display: block; margin: .6rem 0; }
  .picture { max-width: 100%; background: #fff; border: 1px solid var(--line); border-radius: .5rem; } figure { margin: .6rem 0; }
  .try { border-top: 1px solid var(--line); margin-top: .8rem; padding-top: .3rem; } .try textarea, .try input, .try select { margin: .2rem 0; } .try > form > div { margin: .6rem 0; } progress { width: 100%; }
`;
