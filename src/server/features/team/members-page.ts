/** The console's page Members, for operators: who has signed in, and which providers are configured. */
import { html } from "hono/html";
import type { Kernel } from "../../kernel/kernel.ts";
import { shown, type Markup } from "../../kernel/http/document.ts";
import { originOf } from "../../kernel/auth/origin.ts";
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
import { callbackPath } from "../people/provider-sign-in.ts";
import type { SignInSettings } from "./settings.ts";
import type { Upstream } from "./upstream.ts";
import { SIGNED_OUT } from "./membership.ts";
import type { ListedMember, Team } from "./team.ts";

const PATH = "/console/members";

/** A page of the list: the searched name and the cursor after which it begins; either may be empty. */
interface Place {
  name: string;
  after: string;
}

const placeIn = (fields: URLSearchParams): Place => ({
  name: fields.get("name") ?? "",
  after: fields.get("after") ?? "",
});

/** The path of this page of the list. */
function pathTo(place: Place): string {
  const given = Object.entries(place).filter(([, value]) => value !== "");
  return given.length === 0 ? PATH : `${PATH}?${new URLSearchParams(given).toString()}`;
}

const searchForm = ({ name }: Place): Markup =>
  html`<form method="get" action="${PATH}" role="search">
    <label for="name">Find by name</label>
    <div class="acts">
      <input id="name" name="name" type="search" value="${name}" /><button>Find</button>
    </div>
  </form>`;

/** The parts of the feature that the page shows. */
interface Shown {
  team: Team;
  upstreams: ReadonlyMap<string, Upstream>;
}

export const membersPage = (
  { recordAct }: Pick<Kernel, "recordAct">,
  { team, upstreams }: Shown,
): ConsolePage => ({
  name: "Members",
  path: PATH,
  isForOperators: true,
  async show(raw, { caller }, token) {
    const place = placeIn(new URL(raw.url).searchParams);
    const { members, next } = await team.list(place.after, place.name);
    return {
      body: html`<h1>Members</h1>
        ${providersOf([...upstreams.values()], originOf(raw))} ${searchForm(place)}
        ${listOf(members, { token, place, you: caller?.name })}
        ${next !== undefined && html`<p><a class="button" href="${pathTo({ ...place, after: next })}">More</a></p>`}`,
      extraStyle: style,
    };
  },
  async post(form, by) {
    const principal = form.get("principal") ?? "";
    const at = pathTo(placeIn(form));
    if (!team.knows(principal)) return at;
    const what = form.get("do");
    // Nobody ends their own access by mistake.
    if (what === "end" && principal !== by && (await team.block(principal, by)))
      await recordAct(by, "page", `Ended the access of ${principal}.`);
    if (what === "let-in" && (await team.unblock(principal)))
      await recordAct(by, "page", `Let ${principal} sign in again.`);
    return at;
  },
});

/** Long names break anywhere, so that words of other columns stay whole. */
const style = `
  .wide { position: relative; } td { overflow-wrap: break-word; } td summary, td button { white-space: nowrap; }
  .member, .state, td ul { display: block; min-width: 12rem; max-width: 22rem; overflow-wrap: anywhere; } .member .small { font-weight: 400; }
`;

/** The configured providers, their callback addresses, and what is wrong with them. */
function providersOf(upstreams: readonly Upstream[], origin: string): Markup {
  return html`<details>
      <summary>Providers</summary>
      <p>Register its own address at each provider, as the callback or redirect URI:</p>
      ${upstreams.map(({ name, title }) => snippet(origin + callbackPath(name), `Callback address for ${title}`))}
      ${tableOf({
        caption: "Providers at which members sign in",
        columns: ["Provider", "Lets in", "Client id"],
        rows: upstreams.map(({ title, settings }) => [
          shown(title),
          admittedBy(settings),
          html`<code>${shown(settings.client_id)}</code>`,
        ]),
      })}
    </details>
    ${upstreams.map(({ name, title, problem, settings }) => {
      if (problem !== undefined) return notice(shown(problem), "wrong");
      return letsNobodyIn(settings)
        ? notice(
            html`<p>
              ${shown(title)} lets nobody in: <code>SIGN_IN.${shown(name)}.allow</code> is empty.
            </p>`,
            "warn",
          )
        : "";
    })}`;
}

const letsNobodyIn = ({ allow }: SignInSettings): boolean =>
  allow !== "*" && Object.values(allow).every((list) => list.length === 0);

/** Whom a provider lets in, in words. */
function admittedBy({ allow }: SignInSettings): string {
  if (allow === "*") return "everybody with an account";
  const lists = Object.entries(allow).map(([list, names]) => {
    const words = names.map((one) =>
      typeof one === "object" ? [one.claim, one.has].flat().join(" ") : String(one),
    );
    return `${list}: ${words.join(", ")}`;
  });
  return lists.length === 0 ? "nobody" : shown(lists.join("; "));
}

/** What the forms of the list need. */
interface ListContext {
  token: string;
  place: Place;
  /** The principal of the visitor, who cannot lock themselves out. */
  you: string | undefined;
}

function listOf(members: readonly ListedMember[], { token, place, you }: ListContext): Markup {
  const titles = new Map(members.map(({ principal, title }) => [principal, title]));
  const titleOfMember = (principal: string) => titles.get(principal) ?? principal;
  return tableOf({
    caption: "Members, by their last sign-in",
    columns: ["Member", "Provider", "May", "Last sign-in", "Access", "Action"],
    empty:
      place.name === ""
        ? emptyState("Nobody has signed in yet", "Members are listed once they have signed in.")
        : emptyState("Nobody is found", "Search by a part of the name, or of the id."),
    rows: members.map((one) => {
      const { principal, title, rights, signIns, blocked } = one;
      const [last] = signIns;
      const button = (label: string, what: string, tone: "danger" | "") =>
        postButton(label, { token, do: what, principal, ...place }, { about: title, tone });
      const isYou = principal === you;
      return [
        html`<span class="member"
          >${shown(title)} ${isYou ? badge("you", "accent") : ""}<br /><span class="dim small"
            >${shown(principal)}</span
          ></span
        >`,
        last?.provider ?? "",
        rightsIn(rights),
        last === undefined
          ? ""
          : html`<details>
              <summary>${timeTag(last.at)}</summary>
              <ul class="small">
                ${signIns.map(({ at, from, roles }) => html`<li>${timeTag(at)}, ${shown([...roles, from].join(", "))}</li>`)}
              </ul>
            </details>`,
        accessOf(one, titleOfMember),
        blocked !== undefined
          ? button("Let in again", "let-in", "")
          : isYou
            ? ""
            : button("End access", "end", "danger"),
      ];
    }),
  });
}

/** Whether a member has access, since when not, and the reason that they are told. */
function accessOf(
  { checkedAt, ended, blocked }: ListedMember,
  titleOfMember: (principal: string) => string,
): Markup {
  if (ended === undefined) return html`<span class="state">checked ${timeTag(checkedAt)}</span>`;
  const { at, reason } = ended;
  if (blocked === undefined && reason === SIGNED_OUT)
    return html`<span class="state">${badge("signed out")} ${timeTag(at)}</span>`;
  const by = blocked && ` by ${shown(titleOfMember(blocked.by))}`;
  return html`<span class="state"
    >${badge(blocked ? "ended" : "no longer let in", "wrong")} ${timeTag(at)}${by}<br /><span
      class="dim small"
      >Told: “${shown(reason)}”</span
    ></span
  >`;
}

/** What a member may do, in words. */
function rightsIn({ roles, scopes, isOperator }: ListedMember["rights"]): string {
  const own = roles.length > 0 ? roles.join(", ") : scopes === undefined ? "everything" : "";
  return shown([own, isOperator && "operate"].filter(Boolean).join(", "));
}
