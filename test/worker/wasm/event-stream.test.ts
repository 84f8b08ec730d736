import { describe, expect, test } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { dialects } from "../../../src/server/kernel/servlets/dialects.ts";
import { callExport, type Setup } from "../../../src/server/kernel/wasm/call.ts";
import { EventStream, firstOf } from "../../../src/server/kernel/wasm/event-stream.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { bundle } from "../../bundle.gen.ts";

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];

const streamOf = (...chunks: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
      controller.close();
    },
  });

async function piecesOf(...chunks: string[]): Promise<string[]> {
  const stream = new EventStream(streamOf(...chunks), "events.example");
  const pieces: string[] = [];
  for (;;) {
    const piece = await stream.next(() => undefined);
    if (piece === undefined) return pieces;
    pieces.push(decoder.decode(piece));
  }
}

describe("a stream of events is delivered", () => {
  test.each<[string, string[], string[]]>([
    ["event by event", ["data: 1\n\n", "data: 2\n\n"], ["data: 1\n\n", "data: 2\n\n"]],
    ["in whole events", ["data: 1\n\nda", "ta: 2\n", "\n"], ["data: 1\n\n", "data: 2\n\n"]],
    [
      "with any line ends",
      ["data: 1\r\n\r", "\n", "data: 2\r\r"],
      ["data: 1\r\n\r\n", "data: 2\r\r"],
    ],
    ["byte by byte", "data: 1\n\ndata: 2\n\n".split(""), ["data: 1\n\n", "data: 2\n\n"]],
    [
      "byte by byte, with CRLF",
      "data: 1\r\n\r\ndata: 2\r\n\r\n".split(""),
      ["data: 1\r\n\r\n", "data: 2\r\n\r\n"],
    ],
    ["without comments alone", [": ping\n\n", ": ping\n\ndata: 1\n\n"], [": ping\n\ndata: 1\n\n"]],
    ["with an end in haste", ["data: 1\n\n", "data: 2"], ["data: 1\n\n", "data: 2"]],
    ["as nothing, if there is none", [": bye\n\n"], []],
  ])("%s", async (_, chunks, pieces) => {
    expect(await piecesOf(...chunks)).toEqual(pieces);
  });

  test("with those of the stream beside it, whose end says nothing", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const main = new EventStream(readable, "events.example");
    const beside = new EventStream(streamOf("data: b\n\n"), "events.example");
    const next = async () => {
      const { events, isBeside } = await firstOf({
        main,
        beside,
        grow: () => undefined,
        moment: async () => {},
      });
      return { text: events && decoder.decode(events), isBeside };
    };
    expect(await next()).toEqual({ text: "data: b\n\n", isBeside: true });
    const writer = writable.getWriter();
    const written = writer.write(encoder.encode("data: m\n\n"));
    expect(await next()).toEqual({ text: "data: m\n\n", isBeside: false });
    await written;
    await writer.close();
    expect(await next()).toEqual({ text: undefined, isBeside: false });
  });

  test("before those of the stream beside it that come at the same moment", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const main = new EventStream(readable, "events.example");
    const beside = new EventStream(streamOf("data: b\n\n"), "events.example");
    const moment = async () => {
      await writable.getWriter().write(encoder.encode("id: 1\ndata:\n\n"));
      await scheduler.wait(10);
    };
    const first = await firstOf({ main, beside, grow: () => undefined, moment });
    expect(decoder.decode(first.events)).toBe("id: 1\ndata:\n\n");
    const second = await firstOf({ main, beside, grow: () => undefined, moment: async () => {} });
    expect(second.isBeside).toBe(true);
  });

  test("up to a size", async () => {
    const large = "x".repeat(limits.httpBytes);
    await expect(piecesOf("data: 1\n\n", large)).rejects.toThrow(/events\.example is larger than/);
  });
});

describe("a guest that reads a response event by event", () => {
  const probe = bundle.servlets.find(({ name }) => name === "probe")!;
  const program = { ...probe, userFunctions: dialects[probe.dialect].userFunctions };

  /** The guest's response to one request; undefined if the request failed, with its message in `refused`. */
  async function fetched(response: Response, head: object = { events: true }) {
    let isCancelled = false;
    const body = response.body?.pipeThrough(
      new TransformStream({ cancel: () => void (isCancelled = true) } as Transformer),
    );
    const setup: Setup = {
      ...nobody,
      world: { ...liveWorld, fetch: async () => new Response(body ?? null, response) },
      allowedHosts: ["*"],
    };
    const request = { url: "https://events.example/", method: "POST", ...head };
    const args = { request, body: "" };
    const input = { request: { name: "fetch", arguments: args }, context: { id: "1" } };
    const ending = await callExport(program, "call_tool", JSON.stringify(input), setup);
    if (ending.kind === "refused") return { refused: ending.message, isCancelled };
    if (ending.kind !== "returned") throw new Error(ending.kind);
    const { text } = JSON.parse(ending.output!).content[0] as { text: string };
    return { ...(JSON.parse(text) as { body: string; headers: object }), isCancelled };
  }

  const EVENTS = { headers: { "content-type": "text/event-stream; charset=utf-8" } };

  test("gets the first events, hears that there are more, and lets the stream go at its end", async () => {
    const open = new ReadableStream({
      start: (controller) => controller.enqueue(encoder.encode("data: 1\n\n")),
    });
    expect(await fetched(new Response(open, EVENTS))).toMatchObject({
      body: "data: 1\n\n",
      headers: { "edge-servlets-more-events": "true" },
      isCancelled: true,
    });
  });

  test("may wait for the first events longer than for the response", async () => {
    const { httpMs } = limits;
    configureLimits({ httpMs: 30 });
    const late = new ReadableStream({
      async start(controller) {
        await scheduler.wait(60);
        controller.enqueue(encoder.encode("data: 1\n\n"));
        controller.close();
      },
    });
    const got = await fetched(new Response(late, EVENTS));
    configureLimits({ httpMs });
    expect(got).toMatchObject({ body: "data: 1\n\n" });
  });

  test("gets other responses whole, whatever they say of more events", async () => {
    const headers = { "content-type": "application/json", "edge-servlets-more-events": "true" };
    const got = await fetched(new Response("{}", { headers }));
    expect(got).toMatchObject({ body: "{}" });
    expect(got).not.toHaveProperty(["headers", "edge-servlets-more-events"]);
  });

  test("gets an error for more events of no stream", async () => {
    const got = await fetched(new Response(), { events: "next" });
    expect(got.refused).toMatch(/The connection of the event stream was lost\. Resume the stream/);
  });
});
