/** Uses packages from npm, and the platform as they do: by way of `globalThis`. */
import { defineServlet } from "edge-servlets/servlet";
import ky from "ky";

export default defineServlet({
  tools: {
    ky: {
      async handler() {
        const api = ky.create({
          prefix: "https://api.example/",
          retry: { limit: 1, delay: () => 10 },
        });
        const made = await api
          .post("things", { json: { a: 1 }, searchParams: { b: "2 3" } })
          .json();
        const failed = await api.get("missing").catch((error: unknown) => String(error));
        // The errors of a servlet's requests are not among those that ky takes for the network's.
        const retry = { limit: 1, delay: () => 10, shouldRetry: () => true };
        const reached = await api.get("away", { retry }).json();
        return { made, failed, reached };
      },
    },
    globals: {
      handler() {
        const { fetch: found, structuredClone: clone } = globalThis;
        const wanted = ["AbortController", "Headers", "Request", "Response", "URL", "crypto"];
        return {
          same: [found === fetch, clone === structuredClone],
          lacking: wanted.filter((name) => !(name in globalThis)),
        };
      },
    },
  },
});
