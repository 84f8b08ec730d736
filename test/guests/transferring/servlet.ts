import { defineServlet, file } from "edge-servlets/servlet";

/** Makes and takes files, and returns results of any size. */
export default defineServlet({
  files: { resultsOver: 5000 },
  tools: {
    make_file: {
      description: "Makes a file: of a text, or of so many bytes; asks its client then if told to",
      input: {
        type: "object",
        properties: {
          name: { type: "string" },
          text: { type: "string" },
          bytes: { type: "integer" },
          mimeType: { type: "string" },
          times: { type: "integer" },
          isAsking: { type: "boolean" },
        },
        required: ["name"],
      },
      async handler({ name, text, bytes = 0, mimeType, times = 1, isAsking = false }, context) {
        const whole = text ?? Uint8Array.from({ length: bytes }, (_, at) => at % 251);
        const links = [];
        for (let nth = 0; nth < times; nth++)
          links.push(
            await context.file(whole, { name, ...(mimeType !== undefined && { mimeType }) }),
          );
        if (isAsking) await context.roots();
        return links;
      },
    },
    measure_file: {
      description: "Opens a file, and says what it is; asks its client in between if told to",
      input: {
        type: "object",
        properties: {
          data: file({
            accept: ["text/*", ".bin"],
            mostBytes: 1_000_000,
            description: "What to measure.",
          }),
          start: { type: "integer" },
          length: { type: "integer" },
          isAsking: { type: "boolean" },
        },
        required: ["data"],
      },
      async handler({ data, start, length, isAsking = false }, context) {
        const opened = await context.open(data);
        const { name, mimeType, size } = opened;
        const bytes = await opened.bytes(start, length);
        if (isAsking) await context.roots();
        let parts = 0;
        for await (const part of opened.parts()) parts += part.length;
        const sum = bytes.reduce((all, one) => (all * 31 + one) % 1_000_003, 7);
        return {
          name,
          mimeType,
          size,
          read: bytes.length,
          parts,
          sum,
          begins: new TextDecoder().decode(bytes.subarray(0, 20)),
        };
      },
    },
    ask_for_file: {
      description: "Asks for a file, and says what it is",
      input: { type: "object", properties: {} },
      async handler(_, context) {
        const given = await context.askFile({
          message: "Which one?",
          accept: [".csv"],
          mostBytes: 1000,
        });
        if (given === undefined) return "none";
        return `${given.name} ${given.mimeType} ${await given.text()}`;
      },
    },
    need_file: {
      description: "Needs a file, and says what is in it",
      input: {
        type: "object",
        properties: { data: file({ accept: [".csv"], ask: "Which one?" }) },
        required: ["data"],
      },
      handler: async ({ data }, context) => (await context.open(data)).text(),
    },
    link_file: {
      description: "Returns a link to a file",
      input: { type: "object", properties: { data: file() }, required: ["data"] },
      handler: async ({ data }, context) => [await (await context.open(data)).link()],
    },
    call_host: {
      description: "Calls a host function for files with any payload",
      input: {
        type: "object",
        properties: { name: { type: "string" }, payload: {} },
        required: ["name"],
      },
      async handler({ name, payload }) {
        const asked = JSON.stringify({ name, payload });
        return JSON.parse((globalThis as any).__host.call("call_host", asked));
      },
    },
    say_words: {
      description:
        "Returns a text of so many characters, in lines; asks its client before if told to",
      input: {
        type: "object",
        properties: {
          length: { type: "integer" },
          fails: { type: "boolean" },
          isAsking: { type: "boolean" },
        },
        required: ["length"],
      },
      async handler({ length, fails = false, isAsking = false }, context) {
        if (isAsking) await context.roots();
        const text = Array.from({ length: Math.ceil(length / 10) + 1 }, (_, at) =>
          `${at}`.padStart(9, "é"),
        ).join("\n");
        return { content: [{ type: "text", text: text.slice(0, length) }], isError: fails };
      },
    },
    list_rows: {
      description: "Returns so many rows as structured content, with a summary if there is one",
      input: {
        type: "object",
        properties: { count: { type: "integer" }, summary: { type: "string" } },
        required: ["count"],
      },
      handler({ count, summary }) {
        const rows = Array.from({ length: count }, (_, row) => ({ row, name: `row ${row}` }));
        if (summary === undefined) return { rows };
        return { content: [{ type: "text", text: summary }], structuredContent: { rows } };
      },
    },
  },
});
