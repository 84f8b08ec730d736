import { readdir, readFile } from "node:fs/promises";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Json, Tool } from "../../../src/server/kernel/core/model.ts";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
  type Tested,
} from "../../../src/tools/testing/index.ts";

/**
 * Every servlet does the same when its call is interrupted after each answer and begun again, and when
 * what was recorded is given to another build of it.
 */
const folders: string[] = [];
for (const parent of ["plugins", "test/guests", "test/node/sdk/servlets"]) {
  for (const entry of await readdir(parent, { withFileTypes: true })) {
    // `lib` is what others share.
    if (entry.isDirectory() && entry.name !== "lib") folders.push(`${parent}/${entry.name}`);
  }
}

beforeEach(() => {
  // Seeds are the same in each call, so that random numbers are.
  vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => {
    new Uint8Array(bytes!.buffer, bytes!.byteOffset, bytes!.byteLength).fill(7);
    return bytes;
  });
});

/** A world that answers everything, and always the same. */
const world: Script = {
  now: 1_700_000_000_000,
  variables: { SEASON: "plums", GREETING: "hi", VAULT_PROBE: "opened" },
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
  answers: {
    "elicitation/create": ({ requestedSchema }) => ({
      action: "accept",
      content: requestedSchema === undefined ? {} : sample(requestedSchema as Json),
    }),
    "sampling/createMessage": () => ({
      role: "assistant",
      content: { type: "text", text: "aye" },
      model: "m",
    }),
    "roots/list": () => ({ roots: [{ uri: "file:///a", name: "a" }] }),
  },
  fetch: async (request) => {
    const text = `<title>${request.method} ${new URL(request.url).pathname}</title>`;
    return new Response(`${text} ${await request.text()}`, {
      headers: { "content-type": "text/html" },
    });
  },
};

/** Some value that fits a schema. */
function sample(schema: Json): unknown {
  const { type, enum: values, const: only, default: usual } = schema;
  const all = schema["properties"] as Record<string, Json> | undefined;
  if (usual !== undefined) return usual;
  if (Array.isArray(values)) return values[0];
  if (only !== undefined) return only;
  const choice = (schema["oneOf"] ?? schema["anyOf"]) as Json[] | undefined;
  if (choice !== undefined) return sample(choice[0]!);
  if (type === "object") {
    const required = (schema["required"] as string[] | undefined) ?? [];
    return Object.fromEntries(required.map((key) => [key, sample(all?.[key] ?? {})]));
  }
  if (type === "array") return [sample((schema["items"] as Json | undefined) ?? {})];
  if (type === "number" || type === "integer") return schema["minimum"] ?? 2;
  if (type === "boolean") return true;
  return schema["format"] === "date" ? "2026-01-02" : "https://world.allowed.example/a";
}

const http = (method: string) => ({ do: "http", method, url: "https://world.example/a" });

/** Arguments with which a tool asks its host for more than a sample of its schema does. */
const ARGUMENTS: Record<string, Json[]> = {
  plan: [
    {
      steps: [
        { do: "config" },
        { do: "elicit" },
        http("GET"),
        { do: "log", message: "a" },
        { do: "sleep", ms: 5000 },
        { do: "progress" },
        http("POST"),
        { do: "secret" },
        { do: "sample" },
        { do: "roots" },
        { do: "inputs", keys: ["a", "b"] },
        { do: "elicit_url", url: "https://a.example" },
        { do: "random" },
      ],
    },
    { steps: [{ do: "elicit" }, { do: "fail", message: "on purpose" }] },
  ],
  rounds: [{ rounds: 3, post: "https://world.example/a" }],
  fetch: [{ request: { url: "https://world.allowed.example/a" }, body: "" }],
  config: [{ key: "greeting" }],
  secret: [{ of: { service: "vault", user: "probe" } }],
};

/** Those that spin, or never end; their names may have the prefix of a servlet. */
const ENDLESS = /(^|-)(stuck|spin|recurse|endless)$/;

const SAME = new Set(["plan_never", "plan_always", "plan_required", "rounds_always"]);

/** The result, or the message of the error. */
async function outcome<T>(work: Promise<Tested<T>>): Promise<Json> {
  try {
    const tested = await work;
    // Of a trap's trace only the first line is the servlet's.
    return { ...tested, logs: tested.logs.map((line) => line.split("\n")[0]) };
  } catch (error) {
    return { thrown: String(error) };
  }
}

describe.each(folders)("%s", (folder) => {
  let servlet: ServletUnderTest;
  let again: ServletUnderTest;
  let keepsState: boolean;
  beforeAll(async () => {
    servlet = await loadServlet(folder);
    again = await loadServlet(folder);
    keepsState = await readFile(`${folder}/servlet.json`, "utf8").then(
      (text) => "state" in (JSON.parse(text) as Json),
      () => false,
    );
  });

  /** The servlet, as no call has changed its state. */
  const unused = async (loaded: ServletUnderTest) => (keepsState ? loadServlet(folder) : loaded);

  /** The same call three times; gives how often its host was asked. */
  async function compare(
    call: (to: ServletUnderTest, script: Script) => Promise<Tested<unknown>>,
  ): Promise<number> {
    const { recorded, ...undisturbed } = await outcome(call(await unused(servlet), world));
    const replayed = await outcome(call(await unused(servlet), { ...world, alwaysReplay: true }));
    expect(replayed).toEqual({ ...undisturbed, recorded: replayed["recorded"] });
    if (recorded === undefined || "thrown" in undisturbed) return 0;
    const journal = recorded as NonNullable<Script["recorded"]>;
    // There is nobody to ask: all answers are in the record.
    const { variables, now } = world;
    const { result } = await outcome(
      call(await unused(again), { variables, now, recorded: journal }),
    );
    expect(result).toEqual(undisturbed["result"]);
    return journal.entries.length;
  }

  test("tools", async () => {
    const { tools } = await servlet.list();
    let asked = 0;
    for (const tool of tools.filter(({ name }) => !ENDLESS.test(name) && !SAME.has(name))) {
      for (const args of argumentsOf(tool)) {
        asked += await compare((to, script) => to.callTool(tool.name, args, script));
      }
    }
    expect(asked).toBeGreaterThanOrEqual(folder === "test/guests/durable" ? 12 : 0);
  });

  test("resources and prompts", async () => {
    const { resources, prompts } = await servlet.list();
    expect(resources.length + prompts.length).toBeGreaterThanOrEqual(0);
    for (const { uri } of resources) {
      await compare((to, script) => to.readResource(uri, script));
    }
    for (const { name, arguments: takes = [] } of prompts) {
      const args = Object.fromEntries(takes.map((one) => [one.name, "a"]));
      await compare((to, script) => to.getPrompt(name, args, script));
    }
  });
});

const argumentsOf = ({ name, inputSchema }: Tool): Json[] =>
  ARGUMENTS[name] ?? [sample({ ...inputSchema, type: "object" }) as Json];
