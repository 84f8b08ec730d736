/** A reference of HTTP status codes, as a tool, resources, a prompt and completions. */
import { defineServlet, RpcError, type Complete, ToolError } from "edge-servlets/servlet";
import { categories, statuses, type Status } from "./statuses.ts";

const AUDIENCES = ["beginner", "developer", "operator"];

const completeCode: Complete = (typed) =>
  [...statuses.keys()].filter((code) => code.startsWith(typed));

export default defineServlet({
  tools: {
    lookup_status: {
      title: "Look up an HTTP status code",
      description:
        "Tells what an HTTP status code means: its name, its class, a sentence of meaning, and the RFC that defines it.",
      input: {
        type: "object",
        properties: {
          code: {
            type: "integer",
            minimum: 100,
            maximum: 599,
            description: "The status code, such as 404",
          },
        },
        required: ["code"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          code: { type: "integer" },
          name: { type: "string", description: "The reason phrase, such as Not Found" },
          category: { type: "string", enum: categories },
          meaning: { type: "string" },
          specification: { type: "string", description: "The RFC that defines the code" },
        },
        required: ["code", "name", "category", "meaning", "specification"],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      handler({ code }) {
        const status = statuses.get(String(code));
        if (status) return status;
        throw new ToolError(`${unknown(String(code))} See http-status://index for all of them.`);
      },
    },

    list_statuses: {
      title: "List the HTTP status codes",
      description: "Lists all registered HTTP status codes with their names and classes.",
      output: {
        type: "object",
        properties: {
          statuses: {
            type: "array",
            description: "In the order of their codes",
            items: {
              type: "object",
              properties: {
                code: { type: "integer" },
                name: { type: "string" },
                category: { type: "string", enum: categories },
              },
              required: ["code", "name", "category"],
            },
          },
        },
        required: ["statuses"],
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      handler: () => ({
        statuses: [...statuses.values()].map(({ code, name, category }) => ({
          code,
          name,
          category,
        })),
      }),
    },
  },

  resources: {
    "http-status://index": {
      name: "index",
      title: "HTTP status codes",
      description: "All registered HTTP status codes in one table",
      mimeType: "text/markdown",
      read: table,
    },
  },

  resourceTemplates: {
    "http-status://{code}": {
      name: "status",
      title: "HTTP status code",
      description: "What one HTTP status code means",
      mimeType: "text/markdown",
      read(uri, { code = "" }) {
        const status = statuses.get(code);
        if (!status) throw new RpcError(-32602, unknown(code), { uri });
        return `# ${code} ${status.name}\n\n${describe(status)}\n`;
      },
      complete: { code: completeCode },
    },
  },

  prompts: {
    explain_status: {
      title: "Explain an HTTP status code",
      description:
        "Asks for an explanation of an HTTP status code, its usual causes and what to do about it",
      arguments: {
        code: {
          description: "The status code, such as 404",
          required: true,
          complete: completeCode,
        },
        audience: {
          description: "Who is going to read it: beginner, developer or operator",
          complete: (typed) => AUDIENCES.filter((audience) => audience.startsWith(typed)),
        },
      },
      get({ code, audience = "developer" }) {
        const status = statuses.get(code);
        if (!status) throw new RpcError(-32602, unknown(code));
        return (
          `Explain the HTTP status ${code} ${status.name} to a ${audience}: what it means, what usually causes it, ` +
          `and what to do about it on each side. From the reference: ${describe(status)}`
        );
      },
    },
  },
});

function table(): string {
  const rows = [...statuses.values()].map(
    ({ code, name, meaning }) => `| ${code} | ${name} | ${meaning} |\n`,
  );
  return `| Code | Name | Meaning |\n| --- | --- | --- |\n${rows.join("")}`;
}

const describe = ({ meaning, category, specification }: Status): string =>
  `${meaning} (${category}, ${specification})`;

const unknown = (code: string): string => `There is no registered HTTP status code ${code}.`;
