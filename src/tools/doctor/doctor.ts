/** All checks of a server, in the order in which a client meets what they check. */
import { isPrivateWay } from "./address.ts";
import { askedOf, unusable, type Asked } from "./access.ts";
import { checkAgents } from "./agents.ts";
import {
  checkClock,
  checkDns,
  checkHealth,
  checkPlainHttp,
  checkRedirect,
  checkSlash,
  checkTls,
} from "./connection.ts";
import { findingsOf, notTried, type Finding, type Section } from "./finding.ts";
import { signInAt } from "./metadata.ts";
import { checkProtocol } from "./protocol.ts";
import { checkRegistration } from "./registration.ts";
import { checkSetup } from "./setup.ts";
import { checkStreams, PATIENCE, type Patience } from "./stream.ts";

export interface Examination {
  endpoint: URL;
  /** An API key or access token. It goes to the endpoint's origin alone, and into no finding. */
  key?: string | undefined;
  patience?: Patience;
}

/** Checks a server; returns the sections as they are done. */
export async function* examineServer({
  endpoint,
  key,
  patience = PATIENCE,
}: Examination): AsyncGenerator<Section> {
  const way = [await checkDns(endpoint)];
  if (!hasWrong(way)) way.push(await checkTls(endpoint));
  // Plain http elsewhere is wrong, but shows the rest; a name or certificate that is wrong ends everything.
  if (hasWrong(way) && isPrivateWay(endpoint)) {
    const rest = notTried("Everything else", "No client gets further than this.");
    yield { title: "Connection", findings: [...way, rest] };
    return;
  }
  const one = (name: string, check: () => Promise<Finding>) =>
    findingsOf(name, async () => [await check()]);
  let isOurs = false;
  const [health, ...connection] = await Promise.all([
    one("Health", async () => {
      const { isOurs: is, ...finding } = await checkHealth(endpoint);
      isOurs = is;
      return finding;
    }),
    one("Plain http", () => checkPlainHttp(endpoint)),
    one("Redirects", () => checkRedirect(endpoint)),
    one("Slash", () => checkSlash(endpoint)),
    one("Clock", () => checkClock(endpoint)),
  ]);
  yield { title: "Connection", findings: [...way, ...connection.flat(), ...health] };

  let asked: Asked | undefined;
  const access = await one("Endpoint", async () => {
    asked = await askedOf(endpoint);
    return asked.finding;
  });
  const isUsable = asked !== undefined && asked.access !== "unusable";
  // A key must not be sent where it could be read on the way.
  const sent = isPrivateWay(endpoint) ? key : undefined;
  const whyNot = whyNoCalls(asked, { key, sent });

  /** What is tried where the endpoint is one, and this caller may call. */
  const ofCallers = (name: string, check: () => Promise<readonly Finding[]>) =>
    whyNot === undefined
      ? findingsOf(name, check)
      : [whyNot === "" ? unusable(name) : notTried(name, whyNot)];
  // All at once, since listening to the streams takes longest.
  const sections = [
    {
      title: "Sign-in",
      findings: isUsable
        ? findingsOf("Sign-in", () => signInFindings(endpoint, asked!))
        : [unusable("Sign-in")],
    },
    { title: "Calls", findings: ofCallers("Calls", () => checkProtocol(endpoint, sent)) },
    { title: "Clients", findings: findingsOf("User agents", () => checkAgents(endpoint)) },
    {
      title: "Configuration",
      findings: isOurs
        ? findingsOf("Bindings", () => checkSetup(endpoint, sent))
        : [notTried("Bindings", "This is not a server of this project.")],
    },
    {
      title: "Streams",
      findings: ofCallers("Streams", () => checkStreams({ endpoint, key: sent, isOurs, patience })),
    },
  ];
  yield { title: "Access", findings: access };
  for (const { title, findings } of sections) yield { title, findings: await findings };
}

const hasWrong = (findings: readonly Finding[]) => findings.some(({ state }) => state === "wrong");

/** Why nothing can be called; empty where the endpoint is none, undefined where calls can be tried. */
function whyNoCalls(
  asked: Asked | undefined,
  { key, sent }: { key: string | undefined; sent: string | undefined },
): string | undefined {
  if (asked === undefined || asked.access === "unusable") return "";
  if (asked.access === "open" || sent !== undefined) return undefined;
  return key === undefined
    ? "The server wants a key or token, and none was given: set EDGE_SERVLETS_KEY."
    : "The key is not sent over plain http, where it could be read on the way.";
}

async function signInFindings(
  endpoint: URL,
  { access, challenge }: Asked,
): Promise<readonly Finding[]> {
  if (access === "open") return [notTried("Sign-in", "The server needs none: anybody may call.")];
  const { findings, server } = await signInAt(endpoint, challenge);
  if (server === undefined) return findings;
  return [
    ...findings,
    ...(await findingsOf("Registration", () => checkRegistration(server, endpoint))),
  ];
}
