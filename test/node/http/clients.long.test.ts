import { join } from "node:path";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import * as z from "zod";
import { buildWorker, serve, stop, type Served } from "../workerd.ts";
import { SKILLS_EXTENSION, verifiedSkills } from "./skills-client.ts";

/** Both official clients list and use every servlet that comes with the project, over real HTTP. */
let served: Served;
let url: URL;
beforeAll(async () => {
  const folder = await buildWorker("src/index.ts", join(inject("worker"), "own"));
  served = await serve(folder, { durable: true });
  url = new URL(`http://127.0.0.1:${served.port}/mcp`);
});
afterAll(() => stop(served));

const info = { name: "test", version: "1.0.0" };
const capabilities = { extensions: { [SKILLS_EXTENSION]: {} } };

const clients = {
  "@modelcontextprotocol/sdk (v1)": async () => {
    const client = new ClientV1(info, { capabilities });
    await client.connect(new TransportV1(url));
    return client;
  },
  "@modelcontextprotocol/client (v2), modern": async () => {
    const versionNegotiation = { mode: { pin: "2026-07-28" } } as const;
    const client = new ClientV2(info, { versionNegotiation, capabilities });
    await client.connect(new TransportV2(url));
    return client;
  },
  "@modelcontextprotocol/client (v2), legacy": async () => {
    const versionNegotiation = { mode: "legacy" } as const;
    const client = new ClientV2(info, { versionNegotiation, capabilities });
    await client.connect(new TransportV2(url));
    return client;
  },
} satisfies Record<string, () => Promise<ClientV1 | ClientV2>>;

const firstText = (content: unknown) => (content as { type: string; text: string }[])[0]?.text;

describe.each(Object.entries(clients))("%s", (_name, connect) => {
  let client: ClientV1 | ClientV2;
  beforeAll(async () => {
    client = await connect();
  });
  afterAll(() => client.close());

  test("lists everything", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "request_approval",
      "draw_chart",
      "now",
      "wait",
      "run_code",
      "save_snippet",
      "run_snippet",
      "snippets",
      "factor",
      "greet",
      "lookup_status",
      "list_statuses",
      "write_journal",
      "search_journal",
      "read_journal",
      "find_emails",
      "add_note",
      "list_notes",
      "search_notes",
      "edit_note",
      "delete_note",
      "remind_me",
      "list_reminders",
      "cancel_reminder",
      "rfc_report",
      ...["load", "query", "change", "describe", "join"].map((name) => `tables_${name}`),
      "list_tasks",
      "add_task",
      "move_task",
      "remove_task",
      "translate",
      "convert_units",
      "watch_page",
      "watched_pages",
      "leave_page",
      "fetch_page",
      "get_result",
      "wait_for_event",
    ]);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      "skill://write-servlets/SKILL.md",
      "skill://approval/ask-before-acting/SKILL.md",
      "http-status://index",
      "note://all",
      "event://reminders/reminder.due",
      "skill://tasks/keep-a-task-board/SKILL.md",
      "units://all",
      "event://watch/watch.changed",
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "http-status://{code}",
      "note://{id}",
    ]);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(["explain_status", "review_notes"]);
  });

  test("lists, gets and verifies skills as the extension's own client does", async () => {
    expect(client.getServerCapabilities()).toMatchObject({
      extensions: { [SKILLS_EXTENSION]: { directoryRead: true } },
    });
    const request = (method: string, params: object) =>
      (client as ClientV2).request({ method, params: { ...params } }, z.looseObject({}));
    expect(await verifiedSkills(request)).toEqual([
      "skill://write-servlets/SKILL.md",
      "skill://approval/ask-before-acting/SKILL.md",
      "skill://tasks/keep-a-task-board/SKILL.md",
    ]);
  });

  test("chart draws a picture", async () => {
    const { content } = await client.callTool({
      name: "draw_chart",
      arguments: { values: [1, 3, 2] },
    });
    expect(content).toMatchObject([{ type: "text" }, { type: "image", mimeType: "image/png" }]);
    const [, image] = content as [unknown, { data: string }];
    expect(Buffer.from(image.data, "base64").subarray(1, 4).toString()).toBe("PNG");
  });

  test("clock tells the time, with structured content", async () => {
    const { structuredContent } = await client.callTool({ name: "now", arguments: {} });
    expect(structuredContent).toMatchObject({ unixMs: expect.any(Number) });
  });

  test("clock waits, and tells how far it has come", async () => {
    const heard: number[] = [];
    const options = { onprogress: ({ progress }: { progress: number }) => heard.push(progress) };
    const call = { name: "wait", arguments: { seconds: 1.2 } };
    const { content } =
      client instanceof ClientV1
        ? await client.callTool(call, undefined, options)
        : await client.callTool(call, options);
    expect(firstText(content)).toContain("Waited");
    expect(heard.length).toBeGreaterThan(0);
  });

  test("factor factors", async () => {
    const { content } = await client.callTool({ name: "factor", arguments: { number: 60 } });
    expect(firstText(content)).toBe("60 = 2 × 2 × 3 × 5");
  });

  test("hello greets", async () => {
    const { content } = await client.callTool({ name: "greet", arguments: { name: "Zoë 世界" } });
    expect(firstText(content)).toBe("Hello, Zoë 世界!");
  });

  test("http-status looks up, reads, prompts and completes", async () => {
    const { structuredContent } = await client.callTool({
      name: "lookup_status",
      arguments: { code: 404 },
    });
    expect(structuredContent).toMatchObject({ code: 404 });
    const { contents } = await client.readResource({ uri: "http-status://503" });
    expect(JSON.stringify(contents)).toContain("503");
    const { messages } = await client.getPrompt({
      name: "explain_status",
      arguments: { code: "418" },
    });
    expect(JSON.stringify(messages)).toContain("418");
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "explain_status" },
      argument: { name: "code", value: "50" },
    });
    expect(completion.values).toContain("503");
    await expect(client.readResource({ uri: "http-status://999" })).rejects.toThrow();
  });

  test("web refuses a host that its manifest does not allow", async () => {
    const { isError, content } = await client.callTool({
      name: "fetch_page",
      arguments: { url: "https://elsewhere.example/" },
    });
    expect(isError).toBe(true);
    expect(firstText(content)).toContain("elsewhere.example");
  });
});
