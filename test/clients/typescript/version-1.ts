/** The official TypeScript SDK, version 1: https://github.com/modelcontextprotocol/typescript-sdk */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { credentials } from "../../node/http/oauth-client.ts";
import { cell, expect, key, report, revision, signedUrl, teamUrl, tell, url } from "./cells.ts";
import { greets, play, type Answer, type Peer } from "./steps.ts";

async function connect(to: URL, options: StreamableHTTPClientTransportOptions = {}): Promise<Peer> {
  let answer: Answer = async () => ({ action: "decline" });
  let changed = 0;
  const client = new Client(
    { name: "matrix-typescript", version: "1.0.0" },
    { capabilities: { elicitation: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => answer());
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changed++);
  const transport = new StreamableHTTPClientTransport(to, options);
  await client.connect(transport as Transport);
  expect(transport.protocolVersion === revision, transport.protocolVersion);
  return {
    client,
    changed: () => changed,
    answers: (given) => void (answer = given),
    call: (name, args = {}, more = {}) =>
      client.callTool({ name, arguments: { ...args } }, undefined, more),
    async task(name, args) {
      const call = { name, arguments: { ...args } };
      const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, {
        task: { ttl: 60_000 },
      });
      let last: unknown;
      for await (const message of stream) last = message;
      return last;
    },
    listen: async () => undefined,
  };
}

/** Signs in with the client's own OAuth code, and calls. */
async function signIn(to: URL): Promise<void> {
  const { provider: authProvider, asked } = credentials();
  const first = await connect(to, { authProvider }).catch((error: unknown) => error);
  if (!(first instanceof UnauthorizedError)) throw first;
  const back = new URL(await tell("browse", asked().href));
  const signing = new StreamableHTTPClientTransport(to, { authProvider });
  await signing.finishAuth(back.searchParams.get("code")!);
  await greets(await connect(to, { authProvider }));
}

let peer: Peer | undefined;
await cell("connect", async () => void (peer = await connect(url)));
if (peer) await play(peer);
await cell("key", async () => {
  const refused = await connect(signedUrl).then(
    () => false,
    () => true,
  );
  expect(refused, "it connects without a key");
  const headers = { authorization: `Bearer ${key}` };
  await greets(await connect(signedUrl, { requestInit: { headers } }));
});
await cell("oauth", () => signIn(signedUrl));
await cell("team", () => signIn(teamUrl));
report();
process.exit(0);
