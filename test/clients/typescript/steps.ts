import {
  cell,
  expect,
  NotOffered,
  patienceMs,
  pause,
  revision,
  stayMs,
  tell,
  within,
} from "./cells.ts";

/** A connected client of one of the official SDK's versions, in one shape. */
export interface Peer {
  client: {
    listTools(): Promise<{ tools: unknown[] }>;
    listResources(): Promise<{ resources: unknown[] }>;
    listResourceTemplates(): Promise<{ resourceTemplates: unknown[] }>;
    listPrompts(): Promise<{ prompts: unknown[] }>;
    readResource(params: { uri: string }): Promise<unknown>;
    getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<unknown>;
    complete(params: {
      ref: { type: "ref/prompt"; name: string };
      argument: { name: string; value: string };
    }): Promise<{ completion: { values: string[] } }>;
    close(): Promise<void>;
  };
  /** How often the list of tools has changed. */
  changed(): number | Promise<number>;
  /** Sets the user's answer when the server asks. */
  answers(answer: Answer): void;
  call(name: string, args?: object, options?: CallOptions): Promise<any>;
  task(name: string, args: object): Promise<any>;
  /** Opens the stream of changes, where it is not open by itself. */
  listen(): Promise<unknown>;
}

export interface CallOptions {
  signal?: AbortSignal;
  onprogress?: () => void;
}

export type Answer = () => Promise<{ action: "accept" | "decline"; content?: any }>;

const accept: Answer = async () => ({ action: "accept", content: { approve: true } });
const decline: Answer = async () => ({ action: "decline" });
const mistake: Answer = async () => ({ action: "accept", content: { approve: "perhaps" } });
const late: Answer = async () => {
  await tell("drop", "calls");
  await pause(5000);
  return accept();
};

export const isModern = revision >= "2026-07-28";
const PLEA = { what: "Paint the bridge" };

export async function greets({ call }: Peer): Promise<void> {
  const result = await call("greet", { name: "Ada" });
  expect(result.content[0].text === "Hello, Ada!", result);
}

/** All cells of one connection. */
export async function play(peer: Peer): Promise<void> {
  const { client, call } = peer;
  const answered = (expected: string, answer: Answer) => async () => {
    peer.answers(answer);
    const result = await call("request_approval", PLEA);
    expect(result.structuredContent.outcome === expected, result);
  };
  const changes = async () => {
    await peer.listen();
    const before = await peer.changed();
    await call("test_trigger_tool_change");
    const hears = async () => (await peer.changed()) > before;
    expect(await within(patienceMs, hears), "no tools/list_changed");
  };
  await cell("lists", async () => {
    const { tools } = await client.listTools();
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    const { prompts } = await client.listPrompts();
    const found = [tools, resources, resourceTemplates, prompts].map(({ length }) => length);
    expect(
      [20, 3, 2, 3].every((least, at) => found[at]! >= least),
      found,
    );
  });
  await cell("call", () => greets(peer));
  await cell("structured", async () => {
    const result = await call("lookup_status", { code: 404 });
    expect(result.structuredContent.name === "Not Found", result);
  });
  await cell("image", async () => {
    const result = await call("draw_chart", { values: [1, 3, 2] });
    expect(Buffer.from(result.content[1].data, "base64").includes("PNG"), "no PNG");
  });
  await cell("progress", async () => {
    let progressed = 0;
    await call("wait", { seconds: 2.2 }, { onprogress: () => void progressed++ });
    expect(progressed > 0, "no progress came");
  });
  await cell("read", async () => {
    const result = await client.readResource({ uri: "http-status://503" });
    expect(JSON.stringify(result).includes("503"), result);
  });
  await cell("prompt", async () => {
    const asked = { name: "explain_status", arguments: { code: "418" } };
    const result = await client.getPrompt(asked);
    expect(JSON.stringify(result).includes("418"), result);
  });
  await cell("complete", async () => {
    const ref = { type: "ref/prompt", name: "explain_status" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "code", value: "50" } });
    expect(completion.values.includes("503"), completion);
  });
  await cell("answer", answered("approved", accept));
  await cell("refuse", answered("rejected", decline));
  await cell("wrong", async () => {
    peer.answers(mistake);
    const result = await call("request_approval", PLEA).catch(() => ({ isError: true }));
    expect(result.isError === true, result);
    await greets(peer);
  });
  await cell("task", async () => {
    const result = await peer.task("slow_compute", { seconds: 1, label: "it" });
    expect(JSON.stringify(result).includes("Computed it"), result);
  });
  await cell("cancel", async () => {
    const signal = AbortSignal.timeout(1000);
    const ended = await call("wait", { seconds: 20 }, { signal }).then(
      () => "answered",
      () => "cancelled",
    );
    expect(ended === "cancelled", ended);
    await greets(peer);
  });
  await cell("changes", changes, 30_000 + patienceMs);
  await cell(
    "stay",
    async () => {
      await pause(stayMs);
      await greets(peer);
      await changes();
    },
    stayMs + 90_000 + patienceMs,
  );
  await cell("late", answered("approved", late));
  await cell(
    "drops",
    async () => {
      // Without a session a call ends with its stream.
      const long = call("wait", { seconds: 3 }).catch((error: unknown) => {
        if (!isModern) throw error;
      });
      // The stream begins with the first progress, after a second.
      await pause(1500);
      await tell("drop");
      await long;
      await greets(peer);
      await pause(2000);
      await changes();
    },
    60_000 + patienceMs,
  );
  await cell("gone", async () => {
    if (isModern) throw new NotOffered();
    await tell("end");
    const told = await greets(peer).then(() => "a call succeeds", String);
    expect(/session/i.test(told), told);
  });
}
