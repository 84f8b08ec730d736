/** The home page: what this server is, how to connect to it, and its tools. */
import { HOW_TO_CLOSE } from "../../kernel/auth/authenticator.ts";
import { html } from "hono/html";
import { shown, type Markup } from "../../kernel/http/document.ts";
import { emptyState, notice, snippet } from "../../kernel/http/components.ts";
import { connectSection, type Endpoint } from "./connect.ts";
import { entryPage, exploreSection, exploreStyle, type EntryRef, type Offers } from "./explore.ts";
import { viewStyle } from "../people/framed-view.ts";
import { consolePage, type ConsoleSite } from "./frame.ts";
import { PAGES, SIGN_IN_PATH } from "../people/paths.ts";

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
  /** One line about the server; undefined if its operator has not said. */
  description: string | undefined;
  /** The entries that the visitor may use; undefined where authentication is required and nobody has signed in. */
  offers: Offers | undefined;
  /** The entry that the address names; undefined for all. */
  entry: EntryRef | undefined;
  /** The path and search of the page's address. */
  at: string;
  /** How many questions wait for the visitor. */
  waiting: number;
  /** True if anybody may call and AUTH is not set to none. */
  isExposed: boolean;
}

/** The page of the server or of a profile, or of one entry of it. */
export async function startPage(page: StartPage): Promise<Response> {
  const { endpoint, offers, isExposed, profile, profiles, waiting, entry } = page;
  const { title, version, visitor, description } = page;
  const site = { ...page, profile: profile?.name };
  if (entry !== undefined && offers !== undefined) {
    const { body, title: name, isKnown } = await entryPage(offers, entry);
    const extraStyle = exploreStyle + tryStyle + viewStyle;
    const how = { title: name, at: page.at, status: isKnown ? 200 : 404, extraStyle };
    return consolePage(site, "Home", calling(endpoint, body), how);
  }
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
    ${offers === undefined ? hidden(page) : exploreSection(offers)}
    ${profile === undefined && profiles.length > 0 ? profilesSection(profiles) : ""}`;
  return consolePage(site, "Home", body, { at: page.at, extraStyle: style + exploreStyle });
}

/** A part whose script calls this server. */
const calling = ({ url, isKeyed }: Endpoint, body: Markup): Markup =>
  html`<div data-callee="${JSON.stringify({ url, isKeyed })}">${body}</div>`;

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

const hidden = ({ hasSignIn, isDenied, at }: StartPage): Markup =>
  isDenied
    ? emptyState("You may not use this profile", "Ask whoever runs this server for access.")
    : hasSignIn
      ? emptyState(
          "Its tools are shown to those who may use them",
          html`<a href="${SIGN_IN_PATH}?back=${encodeURIComponent(at)}">Sign in</a> to see and try
            what you may use.`,
        )
      : emptyState(
          "Its tools are shown to those who may use them",
          "Connect a client to see what this server offers.",
        );

const style = `
  h1.display { font-size: var(--display); } .lead .badge { margin-left: .5rem; } #connect { margin: 1rem 0; } .card > details > summary { width: fit-content; }
  .qr { width: 12rem; height: 12rem; background: #fff; padding: .75rem; display: block; margin: .5rem 0; border-radius: var(--radius); }
`;

/** The style of what the script shows in a pane. */
const tryStyle = `
  .try { min-height: 0; } .results { min-width: 0; }
  @media (min-width: 80rem) { main:has(.try) { max-width: 110rem; } .try { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2rem; } .results { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 0 .25rem; } .results .result { border: 0; margin: 0; } .results .result h2 { margin-top: 0; } }
 .field { margin: 0 0 1.25rem; max-width: 44rem; } .field p { margin: .125rem 0; } .field input, .field select, .field textarea { margin: .25rem 0; } .field .check { display: flex; align-items: center; padding: .25rem 0; min-height: var(--touch); font-weight: 600; } .field .check input { margin: 0 .5rem 0 0; flex: none; } fieldset.field { min-width: 0; padding: .5rem 1rem; } fieldset.bare { border: 0; padding: 0; } .bare > legend { padding: 0; } .bare .check { font-weight: 400; }
  .drop { margin: .25rem 0; padding: 0 .75rem .25rem; border: 1px dashed var(--edge); border-radius: var(--radius); } .drop.over { border-style: solid; } .drop [type=file] { border: 0; padding: .5rem 0; } .drop progress { flex: 1; } .row > .drop { flex: 1; min-width: 0; }
  fieldset.field .field > label { font-weight: 600; padding: 0; } fieldset.field > .field:last-of-type { margin-bottom: .25rem; } .row { display: flex; gap: .5rem; align-items: center; } .row > fieldset { flex: 1; } .row button { padding: 0 .75rem; min-height: 2.75rem; min-width: 2.75rem; border-color: var(--line); } .add { font-size: var(--small); padding: .125rem .75rem; }
  .try > section > form > .acts { margin: 1rem 0; } progress { width: 100%; max-width: 44rem; accent-color: var(--accent); } .ask ul { padding-left: 1rem; } .ask h2 { margin: 0; }
  .result { border-top: 1px solid var(--line); margin-top: 1.5rem; } .result h2 { margin: 1rem 0 0; } .ways { justify-content: space-between; margin: .5rem 0; } .ways button { font-size: var(--small); padding: .125rem .75rem; min-height: 2rem; } [aria-pressed=true] { background: var(--panel); border-color: var(--accent); color: var(--accent); }
  .said { white-space: pre-wrap; max-width: 44rem; overflow-wrap: anywhere; } .picture { max-width: 100%; background: #fff; border: 1px solid var(--line); border-radius: var(--radius); }
  .tree { margin: .25rem 0; } dl.tree > div { display: grid; grid-template-columns: minmax(6rem, 12rem) minmax(0, 1fr); gap: 0 1rem; padding: .25rem 0; border-top: 1px solid var(--line); } dl.tree > div:first-child { border: 0; } dl.tree > .nested { display: block; } .tree dt { overflow-wrap: anywhere; line-height: 1.6; font-size: var(--body); } .tree dd { margin: 0; min-width: 0; } .nested > dd { padding-left: 1rem; border-left: 2px solid var(--line); }
  .value { white-space: pre-wrap; overflow-wrap: anywhere; } .more { margin-top: 1rem; } .tries ul { list-style: none; padding: 0; } .tries li { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .5rem; align-items: center; border-top: 1px solid var(--line); padding: .5rem 0; } .tries span { flex: 1 1 16rem; min-width: 0; } .tries code { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--dim); }
  @media (max-width: 40rem) { .ways button, .row button, .add { min-height: 2.75rem; } .try > section > form > .acts > * { flex: 1 1 auto; } dl.tree > div { display: block; } }
`;
