// Reads files, and makes files of which each part is different.
import { defineServlet, file } from "edge-servlets/servlet";
import { checksum, contentOf } from "./content.ts";

export default defineServlet({
  tools: {
    check: {
      description: "Reads a file, waits, and reads it again in parts.",
      input: {
        type: "object",
        properties: { data: file(), ms: { type: "number" } },
        required: ["data", "ms"],
      },
      async handler({ data, ms }, context) {
        const opened = await context.open(data);
        const whole = checksum(await opened.bytes());
        if (ms > 0) await context.sleep(ms);
        const parts: Uint8Array[] = [];
        for await (const part of opened.parts()) parts.push(part);
        const length = parts.reduce((sum, part) => sum + part.length, 0);
        const joined = new Uint8Array(length);
        let at = 0;
        for (const part of parts) {
          joined.set(part, at);
          at += part.length;
        }
        return { size: opened.size, whole, parts: checksum(joined) };
      },
    },
    make: {
      description: "Makes a file in parts.",
      input: {
        type: "object",
        properties: {
          seed: { type: "integer" },
          bytes: { type: "integer" },
          ms: { type: "number" },
        },
        required: ["seed", "bytes", "ms"],
      },
      async handler({ seed, bytes, ms }, context) {
        if (ms > 0) await context.sleep(ms);
        const link = await context.file(contentOf(seed, bytes), { name: `made-${seed}.bin` });
        if (ms > 0) await context.sleep(ms);
        return [link];
      },
    },
  },
});
