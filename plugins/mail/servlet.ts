/** Finds emails in Gmail. https://developers.google.com/workspace/gmail/api/reference/rest */
import { defineServlet, ToolError } from "edge-servlets/servlet";

const TEXT = { type: "string" } as const;

export default defineServlet({
  tools: {
    find_emails: {
      title: "Find emails",
      description:
        "Finds a user's emails in Gmail, the newest first, and tells sender, subject, date and beginning of each.",
      input: {
        type: "object",
        properties: {
          query: {
            type: "string",
            default: "",
            description: "As in Gmail's own search: is:unread from:ada. All where it is not given.",
          },
          limit: {
            type: "integer",
            minimum: 1,
            maximum: 20,
            default: 10,
            description: "How many at most",
          },
        },
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          emails: {
            type: "array",
            description: "Those that were found",
            items: {
              type: "object",
              properties: { id: TEXT, from: TEXT, subject: TEXT, date: TEXT, snippet: TEXT },
              required: ["id", "from", "subject", "date", "snippet"],
            },
          },
        },
        required: ["emails"],
      },
      annotations: { readOnlyHint: true, openWorldHint: true },
      async handler({ query = "", limit = 10 }, { config, fetch }) {
        // The deployment's token or that of this call, else the account that the caller has connected.
        const token = config("google");
        const by = token
          ? { headers: { authorization: `Bearer ${token}` } }
          : { account: "google" };
        const user = encodeURIComponent(config("user_id") || "me");
        const ask = async (path: string, params: [string, string][]) => {
          const url = `https://gmail.googleapis.com/gmail/v1/users/${user}/${path}`;
          const address = `${url}?${new URLSearchParams(params).toString()}`;
          const response = await fetch(address, by).catch((error: Error) => {
            throw new ToolError(error.message);
          });
          if (response.ok) return (await response.json()) as Answer;
          const why = [401, 403].includes(response.status)
            ? "the access token has expired, or is not for this"
            : `status ${response.status}`;
          throw new ToolError(`Gmail refused: ${why}.`);
        };
        const { messages = [] } = await ask("messages", [
          ["q", query],
          ["maxResults", String(limit)],
        ]);
        const emails = [];
        for (const { id } of messages) {
          emails.push(emailOf(id, await ask(`messages/${id}`, METADATA)));
        }
        return { emails };
      },
    },
  },
});

const METADATA = [
  ["format", "metadata"],
  ...["From", "Subject", "Date"].map((name) => ["metadataHeaders", name]),
] as [string, string][];

/** The list of messages, or one of them: what of it matters here. */
interface Answer {
  messages?: { id: string }[];
  snippet?: string;
  payload?: { headers?: { name: string; value: string }[] };
}

function emailOf(id: string, { payload, snippet = "" }: Answer) {
  const header = (wanted: string) =>
    payload?.headers?.find(({ name }) => name.toLowerCase() === wanted)?.value ?? "";
  return {
    id,
    from: header("from"),
    subject: header("subject"),
    date: header("date"),
    snippet: snippet.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => CHARACTERS[name]!),
  };
}

/** Gmail writes snippets as HTML. */
const CHARACTERS: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
