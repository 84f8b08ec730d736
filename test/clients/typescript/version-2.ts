/** The official TypeScript SDK, version 2: https://github.com/modelcontextprotocol/typescript-sdk */
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";
import { credentials } from "../../node/http/oauth-client.ts";
import {
  cell,
  expect,
  key,
  NotOffered,
  report,
  revision,
  signedUrl,
  teamUrl,
  tell,
  url,
} from "./cells.ts";
import { greets, isModern, play, type Answer, type Peer } from "./steps.ts";

async function connect(to: URL, options: StreamableHTTPClientTransportOptions = {}): Promise<Peer> {
  let answer: Answer = async () => ({ action: "decline" });
  let changed = 0;
  const client = new Client(
    { name: "matrix-typescript", version: "1.0.0" },
    {
      capabilities: { elicitation: {} },
      versionNegotiation: { mode: isModern ? { pin: revision } : "legacy" },
    },
  );
  client.setRequestHandler("elicitation/create", () => answer());
  client.setNotificationHandler("notifications/tools/list_changed", () => void changed++);
  const transport = new StreamableHTTPClientTransport(to, options);
  await client.connect(transport);
  let listening: { close(): Promise<void> } | undefined;
  return {
    client,
    changed: () => changed,
    answers: (given) => void (answer = given),
    call: (name, args = {}, more = {}) => client.callTool({ name, arguments: { ...args } }, more),
    async task() {
      throw new NotOffered();
    },
    async listen() {
      if (!isModern) return;
      // A stream that has broken is opened anew by its user.
      await listening?.close();
      listening = await client.listen({ toolsListChanged: true });
    },
  };
}

/** Signs in with the client's own OAuth code, and calls. */
async function signIn(to: URL): Promise<void> {
  const { provider: authProvider, asked } = credentials();
  const first = await connect(to, { authProvider }).catch((error: unknown) => error);
  if (!(first instanceof UnauthorizedError)) throw first;
  const back = new URL(await tell("browse", asked().href));
  const signing = new StreamableHTTPClientTransport(to, { authProvider });
  await signing.finishAuth(back.searchParams);
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
