/** Fetches a small answer so often, one after the other. */
import { defineServlet } from "edge-servlets/servlet";

export default defineServlet({
  tools: {
    fetch_small: {
      input: {
        type: "object",
        properties: { times: { type: "integer", minimum: 0 } },
        required: ["times"],
      },
      async handler({ times }, context) {
        const url = context.config("url")!;
        let bytes = 0;
        for (let nth = 0; nth < times; nth++)
          bytes += (await (await fetch(url)).arrayBuffer()).byteLength;
        return `${bytes} bytes`;
      },
    },
  },
});
