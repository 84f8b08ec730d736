/** Revisions of MCP that the server speaks, its list of tools, and one harmless call. */
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { textIn } from "../../server/kernel/core/text.ts";
import { LEGACY_VERSIONS, MODERN_VERSIONS } from "../../server/kernel/mcp/wire/classify.ts";
import { findingsOf, notTried, quoted, right, wrong, type Finding } from "./finding.ts";
import { bearer, post, wordsIn, type RpcReply } from "./requests.ts";
import { initializing, requestModern, TrialSession } from "./session.ts";

interface Tool {
  name: string;
  isHarmless: boolean;
}

/** Calls a tool in the revision that has listed it. */
type Call = (name: string) => Promise<RpcReply>;

/** The result of a revision's checks. */
interface Tried {
  finding: Finding;
  tools?: readonly Tool[];
  call?: Call;
  /** Ends the session. */
  end?(): Promise<void>;
}

export async function checkProtocol(
  endpoint: URL,
  key: string | undefined,
): Promise<readonly Finding[]> {
  const credentials = bearer(key);
  const tries = [
    tryModern(endpoint, credentials),
    ...LEGACY_VERSIONS.map((version) => tryLegacy(endpoint, version, credentials)),
  ];
  const tried = await Promise.all(tries);
  const newest = tried.find(({ tools }) => tools !== undefined);
  const called =
    newest === undefined ? [] : await findingsOf("Call", async () => [await callFinding(newest)]);
  await Promise.all(tried.map(async ({ end }) => end?.()));
  return [...tried.map(({ finding }) => finding), ...called];
}

/** The newest revision: without sessions. */
async function tryModern(endpoint: URL, credentials: Record<string, string>): Promise<Tried> {
  const [version = ""] = MODERN_VERSIONS;
  const name = `MCP ${version}`;
  return caught(name, async () => {
    const found = await requestModern(endpoint, { method: "server/discover" }, credentials);
    const { supportedVersions: versions } = found.message?.result ?? {};
    if (!Array.isArray(versions) || !versions.includes(version))
      return {
        finding:
          found.status >= 500
            ? failed(name, "server/discover", found)
            : notTried(name, "The server does not speak it; clients take an earlier one."),
      };
    const listed = await requestModern(endpoint, { method: "tools/list" }, credentials);
    const call: Call = (tool) =>
      requestModern(
        endpoint,
        { method: "tools/call", params: { name: tool, arguments: {} }, name: tool },
        credentials,
      );
    return { ...listFinding(name, listed, "server/discover"), call };
  });
}

async function tryLegacy(
  endpoint: URL,
  version: string,
  credentials: Record<string, string>,
): Promise<Tried> {
  const name = `MCP ${version}`;
  return caught(name, async () => {
    const begun = await post(endpoint, initializing(version), { headers: credentials });
    if (begun.message?.result === undefined) return { finding: failed(name, "initialize", begun) };
    const session = new TrialSession(endpoint, begun, credentials);
    const end = () => session.end();
    if (session.version !== version) {
      const finding = notTried(
        name,
        `The server answers with ${session.version}, which clients that know it take.`,
      );
      return { finding, end };
    }
    const told = await session.initialized();
    if (told.status >= 400)
      return { finding: failed(name, "notifications/initialized", told), end };
    const listed = await session.request("tools/list");
    const call: Call = (tool) => session.request("tools/call", { name: tool, arguments: {} });
    return { ...listFinding(name, listed, "initialize"), call, end };
  });
}

/** What the check returns; a finding alone if the server cannot be reached. */
async function caught(name: string, work: () => Promise<Tried>): Promise<Tried> {
  let tried: Tried | undefined;
  const [finding] = await findingsOf(name, async () => {
    tried = await work();
    return [tried.finding];
  });
  return tried ?? { finding: finding! };
}

const failed = (name: string, method: string, answer: RpcReply): Finding => {
  const { status, message } = answer;
  const words =
    message?.error === undefined ? wordsIn(answer) : ` It says ${quoted(message.error.message)}.`;
  return status === 429
    ? notTried(name, `Too many requests (status 429). Try again in a minute.${words}`)
    : wrong(name, `${method} fails with status ${status}.${words} See the server's log.`);
};

/** How many tools a revision lists. */
function listFinding(name: string, listed: RpcReply, first: string): Tried {
  const { result, error } = listed.message ?? {};
  // A server need not have tools.
  if (error?.code === -32601)
    return { finding: right(name, `${first} answers; the server has no tools.`), tools: [] };
  const { tools } = result ?? {};
  if (!Array.isArray(tools)) return { finding: failed(name, "tools/list", listed) };
  const many = `${tools.length}${result!["nextCursor"] === undefined ? "" : " or more"} tool${tools.length === 1 ? "" : "s"}`;
  return {
    finding: right(name, `${first} and tools/list answer, with ${many}.`),
    tools: tools.filter(isObject).map(toolOf),
  };
}

/** A tool. It is harmless to call if it only reads and needs no arguments. */
function toolOf({ name, annotations, inputSchema, execution }: Json): Tool {
  const says = isObject(annotations) ? annotations : {};
  const { required } = isObject(inputSchema) ? inputSchema : {};
  const needs = Array.isArray(required) && required.length > 0;
  const isTask = isObject(execution) && execution["taskSupport"] === "required";
  return { name: textIn(name), isHarmless: says["readOnlyHint"] === true && !needs && !isTask };
}

/** One call of a tool that only reads and needs no arguments. */
async function callFinding({ tools = [], call }: Tried): Promise<Finding> {
  const name = "Call";
  const harmless = tools.find(({ isHarmless }) => isHarmless);
  if (harmless === undefined)
    return notTried(
      name,
      tools.length === 0
        ? "No tool is listed for this caller."
        : "No tool that is marked as reading only (readOnlyHint) goes without arguments, and others could change something.",
    );
  const answer = await call!(harmless.name);
  const { result, error } = answer.message ?? {};
  if (error !== undefined || result === undefined)
    return failed(name, `tools/call of ${harmless.name}`, answer);
  if (result["isError"] !== true)
    return right(name, `The tool ${harmless.name}, which only reads, answers.`);
  const [first] = Array.isArray(result["content"]) ? result["content"].filter(isObject) : [];
  return wrong(
    name,
    `The tool ${harmless.name} ends with the error ${quoted(textIn(first?.["text"]))}. Call it in the console or a client, and see the server's log.`,
  );
}
