/** All checks of a server, in the order in which a client meets what they check. */
import { accessTo, type EndpointAccess } from "./access.ts";
import { checkAgents } from "./agents.ts";
import {
  checkClock,
  checkDns,
  checkHealth,
  checkPlainHttp,
  checkAnswer,
  checkSlash,
  checkTls,
} from "./connection.ts";
import { findingsOf, notTried, type Finding, type FindingGroup } from "./finding.ts";
import { signInAt } from "./metadata.ts";
import { checkProtocol } from "./protocol.ts";
import { checkRegistration } from "./registration.ts";
import { checkSetup } from "./setup.ts";
import { checkStreams, PATIENCE, type Patience } from "./stream.ts";

interface Examination {
  endpoint: URL;
  /** An API key or access token. It is sent to the endpoint's origin alone, and is in no finding. */
  key?: string | undefined;
  patience?: Patience;
}

/** Checks a server, and yields each group when it is done. */
export async function* examineServer({
  endpoint,
  key,
  patience = PATIENCE,
}: Examination): AsyncGenerator<FindingGroup> {
  const way = [await checkDns(endpoint)];
  if (!hasWrong(way)) way.push(await checkTls(endpoint));
  // Plain http is wrong except on this machine, but does not stop the other checks.
  const isReached = !hasWrong(way) || endpoint.protocol === "http:";
  if (isReached) way.push(...(await one("Answer", () => checkAnswer(endpoint))));
  if (!isReached || way.at(-1)?.state === "wrong") {
    const rest = notTried("Everything else", "No client gets further than this.");
    yield { title: "Connection", findings: [...way, rest] };
    return;
  }
  let isOurs = false;
  const checks = await Promise.all([
    one("Plain http", () => checkPlainHttp(endpoint)),
    one("Slash", () => checkSlash(endpoint)),
    one("Clock", () => checkClock(endpoint)),
    one("Health", async () => {
      const { isOurs: is, ...finding } = await checkHealth(endpoint);
      isOurs = is;
      return finding;
    }),
  ]);
  yield { title: "Connection", findings: [...way, ...checks.flat()] };

  const access = await accessTo(endpoint, key);
  yield { title: "Access", findings: access.findings };

  const { closed, key: known } = access;
  /** Runs a check that needs calls; `not tried` if nothing can be called. */
  const calling = async (name: string, check: () => Promise<readonly Finding[]>) =>
    closed === undefined ? findingsOf(name, check) : [notTried(name, closed)];
  // All at once, since listening to the streams takes longest.
  const groups = [
    {
      title: "Sign-in",
      findings: findingsOf("Sign-in", () => signInFindings(endpoint, access)),
    },
    { title: "Calls", findings: calling("Calls", () => checkProtocol(endpoint, known)) },
    { title: "Clients", findings: findingsOf("User agents", () => checkAgents(endpoint)) },
    {
      title: "Configuration",
      findings: isOurs
        ? findingsOf("Bindings", () => checkSetup(endpoint, known))
        : [notTried("Bindings", "This is not a server of this project.")],
    },
    {
      title: "Streams",
      findings: calling("Streams", () => checkStreams({ endpoint, key: known, isOurs, patience })),
    },
  ];
  for (const { title, findings } of groups) yield { title, findings: await findings };
}

const one = (name: string, check: () => Promise<Finding>) =>
  findingsOf(name, async () => [await check()]);

const hasWrong = (findings: readonly Finding[]) => findings.some(({ state }) => state === "wrong");

async function signInFindings(
  endpoint: URL,
  { kind, challenge, closed }: EndpointAccess,
): Promise<readonly Finding[]> {
  const name = "Sign-in";
  if (kind === "unusable") return [notTried(name, closed ?? "")];
  if (kind === "open") return [notTried(name, "The server needs none: anybody may call.")];
  const { findings, server } = await signInAt(endpoint, challenge);
  if (server === undefined) return findings;
  return [
    ...findings,
    ...(await findingsOf("Registration", () => checkRegistration(server, endpoint))),
  ];
}
