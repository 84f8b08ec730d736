/** Whether known clients can sign in: registers each, and opens its sign-in page. */
import { createHash, randomBytes } from "node:crypto";
import type { Json } from "../../server/kernel/core/model.ts";
import { textIn } from "../../server/kernel/core/text.ts";
import { isSafe } from "../../server/kernel/http/private-hosts.ts";
import { shownUrl } from "./address.ts";
import { findingsOf, notTried, quoted, right, wrong, type Finding } from "./finding.ts";
import type { SignInServer } from "./metadata.ts";
import { bearer, objectIn, redirectOf, send, wordsIn, type HttpReply } from "./requests.ts";

/** Known clients, and the addresses to which people come back after the sign-in. */
const APPS: readonly { name: string; isNative: boolean; redirects: readonly string[] }[] = [
  {
    name: "Claude",
    isNative: false,
    redirects: [
      "https://claude.ai/api/mcp/auth_callback",
      "https://claude.com/api/mcp/auth_callback",
    ],
  },
  {
    name: "ChatGPT",
    isNative: false,
    redirects: ["https://chatgpt.com/connector_platform_oauth_redirect"],
  },
  {
    name: "Cursor",
    isNative: true,
    redirects: ["cursor://anysphere.cursor-mcp/oauth/callback"],
  },
  {
    name: "VS Code",
    isNative: true,
    redirects: ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
  },
  {
    name: "mcp-remote",
    isNative: true,
    redirects: ["http://127.0.0.1:3334/oauth/callback", "http://localhost:3334/oauth/callback"],
  },
];

type App = (typeof APPS)[number];

/** An address that no client has registered. https://www.rfc-editor.org/rfc/rfc2606 */
const FOREIGN = "https://edge-servlets-doctor.invalid/callback";

/** The name of findings about the registration itself, not about one app. */
const NAME = "Registration";

/** Redirects that are followed between the pages of a sign-in. */
const REDIRECTS = 8;

export async function checkRegistration(
  server: SignInServer,
  endpoint: URL,
): Promise<readonly Finding[]> {
  const { registration } = server;
  if (registration === undefined)
    return [notTried(NAME, "The authorization server takes no registrations.")];
  const clients: Registered[] = [];
  const findings: Finding[] = [];
  for (const app of APPS) {
    const tried = await findingsOf(NAME, async () => {
      const reply = await register(registration, app);
      const client = clientIn(reply, registration);
      if (client === undefined) return [refusedRegistration(app, reply)];
      clients.push(client);
      return appFindings(app, client, { server, endpoint });
    });
    findings.push(...tried);
    // The other apps would meet the same.
    if (tried.some(({ name }) => name !== app.name)) break;
  }
  const [first] = clients;
  if (first !== undefined)
    findings.push(
      ...(await findingsOf("Foreign address", async () => [
        await foreignFinding(first, { server, endpoint }),
      ])),
      await deleteClients(clients),
    );
  return findings;
}

interface Registered {
  id: string;
  /** The redirect addresses that were accepted. */
  redirects: readonly string[];
  /** Where it can be deleted, and by which token. https://www.rfc-editor.org/rfc/rfc7592 */
  management: { url: URL; token: string } | undefined;
}

const register = (registration: URL, { name, isNative, redirects }: App): Promise<HttpReply> =>
  send(registration, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({
      client_name: `edge-servlets doctor, as ${name}`,
      redirect_uris: redirects,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: isNative ? "native" : "web",
    }),
  });

function clientIn(reply: HttpReply, registration: URL): Registered | undefined {
  const client: Json = objectIn(reply) ?? {};
  const id = textIn(client["client_id"]);
  if (![200, 201].includes(reply.status) || id === "") return undefined;
  const { redirect_uris: redirects, registration_client_uri: uri } = client;
  const token = textIn(client["registration_access_token"]);
  const url = URL.parse(textIn(uri));
  return {
    id,
    redirects: Array.isArray(redirects) ? redirects.map(textIn) : [],
    // Elsewhere, a server could have anything deleted that this machine reaches.
    management: url?.origin === registration.origin && token !== "" ? { url, token } : undefined,
  };
}

/** Statuses of a registration that is refused for what the app has sent. */
const REFUSES_APP = new Set([400, 422]);

function refusedRegistration({ name, redirects }: App, reply: HttpReply): Finding {
  const { status } = reply;
  const words = wordsIn(reply);
  if (status === 429)
    return notTried(
      NAME,
      `Too many registrations came from this address (status 429). Try again in an hour.${words}`,
    );
  return REFUSES_APP.has(status)
    ? wrong(
        name,
        `It cannot register (status ${status}).${words} Allow its redirect addresses at the authorization server: ${redirects.join(", ")}.`,
      )
    : wrong(
        NAME,
        `No client can register (status ${status}).${words} Open the registration_endpoint to clients without credentials, or leave it out of the metadata.`,
      );
}

interface Place {
  server: SignInServer;
  endpoint: URL;
}

/** Whether a registered app gets the sign-in page for each of its redirect addresses. */
async function appFindings(app: App, client: Registered, place: Place): Promise<Finding[]> {
  const { name, redirects } = app;
  const faults: Finding[] = [];
  for (const redirect of redirects) {
    const { reply, at } = await signInPage(client.id, redirect, place);
    if (isPage(reply)) continue;
    const back = redirectOf(reply, at)?.searchParams;
    const error = back?.get("error") ?? undefined;
    const said = back?.get("error_description") ?? error;
    if (error === "invalid_target")
      return [
        wrong(
          "Resource",
          `The authorization server issues no tokens for ${place.endpoint.href} (invalid_target: ${quoted(said ?? "")}). Add this URL there as a resource, which it may call API or audience.`,
        ),
      ];
    if (reply.status === 429)
      return [
        notTried(
          NAME,
          "Too many sign-in pages were opened from this address (status 429). Try again in an hour.",
        ),
      ];
    faults.push(
      wrong(
        name,
        said === undefined
          ? `The sign-in for ${redirect} answers with status ${reply.status} at ${shownUrl(at)}, and with no page.${wordsIn(reply)} Allow this address at the authorization server.`
          : `The sign-in for ${redirect} leads back with the error ${quoted(said)}. Look for it in the log of the authorization server.`,
      ),
    );
  }
  if (faults.length > 0) return faults;
  return [right(name, `It registers, and gets the sign-in page for ${redirects.join(" and ")}.`)];
}

/** Whether an address that was never registered is refused. */
async function foreignFinding(client: Registered, place: Place): Promise<Finding> {
  const name = "Foreign address";
  const own = await signInPage(client.id, client.redirects[0] ?? "", place);
  const { reply, at } = await signInPage(client.id, FOREIGN, place);
  const leadsOn = redirectOf(reply, at)?.hostname === new URL(FOREIGN).hostname;
  if (leadsOn || (isPage(reply) && isPage(own.reply) && at.pathname === own.at.pathname))
    return wrong(
      name,
      `The sign-in takes an address that was never registered (${FOREIGN}), so codes can be stolen. Have the authorization server compare redirect addresses letter by letter.`,
    );
  return right(name, `An address that was never registered is refused (status ${reply.status}).`);
}

const isPage = ({ status, headers }: HttpReply): boolean =>
  status === 200 && /html/.test(headers.get("content-type") ?? "");

/** Opens the sign-in page as a browser does, with cookies. Follows redirects, but not back to the client. */
async function signInPage(
  clientId: string,
  redirect: string,
  { server, endpoint }: Place,
): Promise<{ reply: HttpReply; at: URL }> {
  const verifier = randomBytes(32).toString("base64url");
  let at = new URL(server.authorization);
  const query = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirect,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state: randomBytes(16).toString("base64url"),
    resource: endpoint.href,
  };
  for (const [key, value] of Object.entries(query)) at.searchParams.set(key, value);
  const cookies = new Map<string, string>();
  for (let followed = 0; ; followed++) {
    const cookie = [...cookies].map(([key, value]) => `${key}=${value}`).join("; ");
    const headers = { accept: "text/html", ...(cookie !== "" && { cookie }) };
    const reply = await send(at, { headers });
    const next = redirectOf(reply, at);
    const leadsOn = next !== undefined && isSafe(next) && !leadsBack(next, redirect);
    if (!leadsOn || followed === REDIRECTS) return { reply, at };
    for (const one of reply.headers.getSetCookie()) {
      const [, key = "", value = ""] = /^([^=;]+)=([^;]*)/.exec(one) ?? [];
      cookies.set(key, value);
    }
    // Cookies belong to one host.
    if (next.host !== at.host) cookies.clear();
    at = next;
  }
}

/** True for a URL that leads back to the client. */
const leadsBack = (url: URL, redirect: string): boolean => {
  const back = URL.parse(redirect);
  return url.host === back?.host && url.pathname === back.pathname;
};

/** Deletes the clients, where the server can. https://www.rfc-editor.org/rfc/rfc7592 */
async function deleteClients(clients: readonly Registered[]): Promise<Finding> {
  const name = "Registered clients";
  const deleted = await Promise.all(
    clients.map(async ({ management }) => {
      if (management === undefined) return false;
      const headers = bearer(management.token);
      const reply = await send(management.url, { method: "DELETE", headers }).catch(
        () => undefined,
      );
      return reply !== undefined && reply.status < 300;
    }),
  );
  const left = deleted.filter((one) => !one).length;
  return left === 0
    ? right(name, `The ${clients.length} that were registered for this are deleted again.`)
    : right(
        name,
        `${left} named "edge-servlets doctor" stay until they expire: the server has no way to delete them (RFC 7592). They can do nothing until somebody allows them.`,
      );
}
