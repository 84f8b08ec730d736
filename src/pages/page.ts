/** The home page: what this server is, how to connect to it, and its tools. */
import { html } from "hono/html";
import { shown, type Markup } from "../http/document.ts";
import { emptyState, notice, snippet } from "./components.ts";
import { connectSection, type Endpoint } from "./connect.ts";
import { exploreSection, type Offers } from "./explore.ts";
import { viewStyle } from "./framed-view.ts";
import { consolePage, type ConsoleSite } from "./frame.ts";
import { PAGES, SIGN_IN_PATH } from "./paths.ts";

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
  /** What the server is, in a line; undefined if its operator has not said. */
  description: string | undefined;
  /** The entries that the visitor may use; undefined where authentication is required and nobody has signed in. */
  offers: Offers | undefined;
  /** How many questions wait for the visitor. */
  waiting: number;
  /** True if anybody may call and AUTH is not set to none. */
  isExposed: boolean;
}

/** Advice about a server that anybody may call. */
export const HOW_TO_CLOSE =
  "Create an API key (npm run keys -- create NAME) or a passphrase (npm run passphrase), or set AUTH to none if public access is intended.";

export function startPage(page: StartPage): Promise<Response> {
  const { endpoint, offers, isExposed, hasSignIn, profile, profiles, isDenied, waiting } = page;
  const { title, version, visitor, description } = page;
  const body = html`<h1 class="display">${shown(profile?.title ?? title)}</h1>
    ${
      profile === undefined
        ? html`<p class="lead">
            ${shown(description ?? "Tools for your AI assistant. Connect it, or try them here.")}
            <span class="badge">version ${version}</span>
          </p>`
        : html`<p class="lead">
            A profile of <a href="${PAGES.Home}">${shown(title)}</a>.
            ${shown(profile.description ?? "")}
          </p>`
    }
    ${isExposed ? notice(`This server requires no authentication. ${HOW_TO_CLOSE}`, "warn") : ""}
    ${waiting === 0 ? "" : waitingNotice(waiting)}
    ${connectSection(endpoint, visitor === undefined)}
    ${offers === undefined ? hidden(hasSignIn, isDenied) : exploreSection(offers)}
    ${profile === undefined && profiles.length > 0 ? profilesSection(profiles) : ""}`;
  return consolePage({ ...page, profile: profile?.name }, "Home", body, {
    extraStyle: style + viewStyle,
  });
}

const waitingNotice = (waiting: number): Markup =>
  notice(
    html`<p class="acts">
      <strong>${waiting === 1 ? "1 question waits" : `${waiting} questions wait`} for you.</strong>
      <a class="button primary" href="${PAGES.Live}">Answer</a>
    </p>`,
  );

/** Each has a page of its own, with the snippets of all clients. */
const profilesSection = (profiles: StartPage["profiles"]): Markup =>
  html`<section aria-labelledby="profiles">
    <h2 id="profiles">Profiles</h2>
    <p>Parts of this server, each with a URL of its own.</p>
    ${profiles.map(
      ({ name, title, description, url }) =>
        html`<h3><a href="${url}">${shown(title)}</a></h3>
          ${description === undefined ? "" : html`<p>${shown(description)}</p>`}
          ${snippet(url, `URL of the profile ${name}`)}`,
    )}
  </section>`;

const hidden = (hasSignIn: boolean, isDenied: boolean): Markup =>
  isDenied
    ? emptyState("You may not use this profile", "Ask whoever runs this server for access.")
    : hasSignIn
      ? emptyState(
          "Its tools are shown to those who may use them",
          html`<a href="${SIGN_IN_PATH}">Sign in</a> to see and try what you may use.`,
        )
      : emptyState(
          "Its tools are shown to those who may use them",
          "Connect a client to see what this server offers.",
        );

const style = `
  h1.display { font-size: var(--display); } .lead .badge { margin-left: .5rem; } #connect { margin: 1rem 0; } .card > details > summary { width: fit-content; }
  .servlet { border-top: 1px solid var(--line); padding: 1.25rem 0 .5rem; } .servlet h3 { margin: 0; }
  .anchor { text-decoration: none; color: var(--dim); }
  .entry { border: 1px solid var(--line); border-radius: var(--round); margin: .5rem 0; }
  .entry > summary { padding: .5rem .75rem; overflow-wrap: anywhere; }
  .entry > summary code { font-weight: 600; }
  .first { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .entry[open] .first { display: none; }
  .inside { padding: 0 .75rem .5rem; scroll-margin-top: 4rem; }
  .qr { width: 12rem; height: 12rem; background: #fff; padding: .75rem; display: block; margin: .5rem 0; border-radius: var(--radius); }
  .picture { max-width: 100%; background: #fff; border: 1px solid var(--line); border-radius: var(--radius); }
  .try { border-top: 1px solid var(--line); margin-top: .75rem; padding-top: .25rem; } .try > form > div { margin: .5rem 0; } progress { width: 100%; accent-color: var(--accent); }
`;
