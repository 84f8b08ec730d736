import { defineServlet } from "edge-servlets/servlet";
import { cases } from "./cases.ts";

/** Made, and used, when the servlet is built. */
const early = new TextDecoder("latin1");
const built = early.decode(new Uint8Array([0xe9]));

const said = async (work: () => unknown) => {
  try {
    return await work();
  } catch (error) {
    return String(error);
  }
};

export default defineServlet({
  tools: {
    run: {
      input: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
      } as const,
      handler: async ({ name }) => ({ made: (await cases[name]!()) as unknown }),
    },
    early: { handler: () => built + early.decode(new Uint8Array([0x80, 0xe9])) },
    absent: {
      async handler() {
        const made = [
          () => new WebSocket("wss://a.example"),
          () => new XMLHttpRequest(),
          () => new Worker("./a.js"),
          () => new SharedWorker("./a.js"),
          () => new EventSource("https://a.example"),
          () => new (class extends WebSocket {})("wss://a.example"),
        ];
        return {
          said: await Promise.all(made.map(said)),
          // What packages prefer to fetch where they find it.
          found: [typeof XMLHttpRequest, typeof Worker, typeof EventSource, typeof WebSocket],
          there: "XMLHttpRequest" in globalThis && "Worker" in globalThis,
          open: WebSocket.OPEN,
        };
      },
    },
    unsupported: {
      async handler() {
        const { subtle } = crypto;
        const key = await subtle.importKey("raw", new Uint8Array(16), "AES-GCM", true, ["encrypt"]);
        return {
          said: await Promise.all(
            [
              () => subtle.digest("MD5", new Uint8Array()),
              () => subtle.sign("RSASSA-PKCS1-v1_5", key, new Uint8Array()),
              () => subtle.importKey("pkcs8", new Uint8Array(9), "ECDSA", false, ["sign"]),
              () => subtle.deriveBits(),
            ].map(said),
          ),
        };
      },
    },
    huge: {
      async handler(args) {
        const bytes = new Uint8Array(Number(args["bytes"]));
        const decoder = new TextDecoder("shift_jis");
        for (let count = 0; ; count++) {
          if (args["what"] === "decode") decoder.decode(bytes);
          else await crypto.subtle.digest("SHA-512", bytes);
          if (args["times"] === count) return count;
        }
      },
    },
    no_content: {
      async handler() {
        const { status, body } = await fetch("https://api.example/");
        return { status, body };
      },
    },
  },
});
