/** Refuses every third call, as an API does that counts requests. */
import { defineServlet, ToolError } from "edge-servlets/servlet";

let calls = 0;

export default defineServlet({
  tools: {
    repository_metrics: {
      description:
        "Visitors and downloads of a repository in the last month. Refuses with 429 if it is asked too often.",
      annotations: { readOnlyHint: true, openWorldHint: false },
      input: {
        type: "object",
        properties: { repository: { type: "string", minLength: 1, maxLength: 100 } },
        required: ["repository"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          repository: { type: "string" },
          visitors: { type: "integer" },
          downloads: { type: "integer" },
          days: { type: "array", items: { type: "integer" }, description: "Visitors of each day" },
        },
        required: ["repository", "visitors", "downloads", "days"],
      },
      handler({ repository }) {
        calls += 1;
        if (calls % 3 === 0)
          throw new ToolError("429 Too Many Requests. Retry after 0.005 seconds.");
        const days = Array.from(
          { length: 30 },
          (_, at) => (repository.length * 37 + at * 11) % 400,
        );
        const visitors = days.reduce((sum, one) => sum + one, 0);
        return { repository, visitors, downloads: visitors * 3, days };
      },
    },
  },
});
