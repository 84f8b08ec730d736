/** A tracker with issues as large as those of real ones. */
import { defineServlet, ToolError } from "edge-servlets/servlet";

const ISSUES = 360;
const MEMBERS = 40;
const PAGE = 30;
const LABELS = ["bug", "docs", "feature", "performance", "question"] as const;
const TEAMS = ["core", "design", "infrastructure", "support"] as const;
const WORDS =
  "the upload of a large file stops when the connection is slow and the page shows no error although the log has one".split(
    " ",
  );

const text = (seed: number, words: number) =>
  Array.from({ length: words }, (_, at) => WORDS[(seed * 7 + at * (1 + (seed % 5))) % 22]).join(
    " ",
  );
const day = (seed: number) => new Date(Date.UTC(2026, 0, 1) + seed * 43_200_000).toISOString();

const issue = (number: number) => ({
  number,
  title: `${number % 3 === 0 ? "bug: " : ""}${text(number, 6)}`,
  body: text(number + 1, 40),
  state: number % 4 === 0 ? ("closed" as const) : ("open" as const),
  labels: [LABELS[number % 5]!, ...(number % 7 === 0 ? ["stale"] : [])],
  author: `member${(number * 13) % MEMBERS}`,
  assignee: `member${(number * 11) % MEMBERS}`,
  comments: number % 6,
  created: day(number),
  updated: day(number + (number % 6)),
});

const member = (at: number) => ({
  login: `member${at}`,
  name: `Member Number ${at}`,
  email: `member${at}@example.com`,
  team: TEAMS[at % 4]!,
  joined: day(at),
});

/** All of them, which are in the servlet's image. */
const issues = Array.from({ length: ISSUES }, (_, at) => issue(at + 1));
const members = Array.from({ length: MEMBERS }, (_, at) => member(at));

const from = (number: number) => {
  const found = issues[number - 1];
  if (found) return found;
  throw new ToolError(`There is no issue ${number}.`);
};

const NUMBER = { type: "integer", minimum: 1, description: "The issue's number" } as const;
const PAGE_NUMBER = { type: "integer", minimum: 1, description: "1 by default" } as const;
const STRING = { type: "string" } as const;
const STRINGS = { type: "array", items: STRING } as const;
const ISSUE = {
  type: "object",
  properties: {
    number: NUMBER,
    title: STRING,
    body: STRING,
    state: { enum: ["open", "closed"] },
    labels: STRINGS,
    author: STRING,
    assignee: STRING,
    comments: { type: "integer" },
    created: STRING,
    updated: STRING,
  },
  required: ["number", "title", "body", "state", "labels", "author", "assignee", "comments"],
} as const;
const PAGES = { type: "integer", description: "How many pages there are" } as const;
const readOnly = { annotations: { readOnlyHint: true, openWorldHint: false } } as const;

function paged<T>(all: readonly T[], page: number) {
  return { found: all.slice((page - 1) * PAGE, page * PAGE), pages: Math.ceil(all.length / PAGE) };
}

export default defineServlet({
  tools: {
    list_issues: {
      description: "Lists the issues of the project, 30 on a page, the oldest first.",
      ...readOnly,
      input: {
        type: "object",
        properties: {
          state: { enum: ["open", "closed", "all"], default: "all" },
          label: { type: "string", description: "Only those with this label" },
          page: PAGE_NUMBER,
        },
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: { issues: { type: "array", items: ISSUE }, pages: PAGES },
        required: ["issues", "pages"],
      },
      handler({ state = "all", label, page = 1 }) {
        const wanted = issues.filter(
          (one) =>
            (state === "all" || one.state === state) &&
            (label === undefined || one.labels.includes(label)),
        );
        const { found, pages } = paged(wanted, page);
        return { issues: found, pages };
      },
    },
    get_issue: {
      description: "Gets one issue with its comments.",
      ...readOnly,
      input: {
        type: "object",
        properties: { number: NUMBER },
        required: ["number"],
        additionalProperties: false,
      },
      handler: ({ number }) => {
        const found = from(number);
        const thread = Array.from({ length: found.comments }, (_, at) => ({
          author: `member${(number + at) % MEMBERS}`,
          written: day(number + at + 1),
          text: text(number + at, 25),
        }));
        return {
          structuredContent: { ...found, thread },
          content: [{ type: "text", text: JSON.stringify({ ...found, thread }) }],
        };
      },
    },
    list_members: {
      description: "Lists the members of the project with their teams, 30 on a page.",
      ...readOnly,
      input: {
        type: "object",
        properties: { page: PAGE_NUMBER },
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          members: {
            type: "array",
            items: {
              type: "object",
              properties: {
                login: STRING,
                name: STRING,
                email: STRING,
                team: STRING,
                joined: STRING,
              },
              required: ["login", "name", "email", "team", "joined"],
            },
          },
          pages: PAGES,
        },
        required: ["members", "pages"],
      },
      handler({ page = 1 }) {
        const { found, pages } = paged(members, page);
        return { members: found, pages };
      },
    },
    set_title: {
      description: "Gives an issue another title.",
      annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
      input: {
        type: "object",
        properties: { number: NUMBER, title: { type: "string", minLength: 1, maxLength: 200 } },
        required: ["number", "title"],
        additionalProperties: false,
      },
      output: ISSUE,
      handler: ({ number, title }) => ({ ...from(number), title }),
    },
    close_issue: {
      description: "Closes an issue.",
      annotations: { destructiveHint: true, openWorldHint: false },
      input: {
        type: "object",
        properties: { number: NUMBER, comment: { type: "string", maxLength: 1000 } },
        required: ["number"],
        additionalProperties: false,
      },
      output: ISSUE,
      handler: ({ number }) => ({ ...from(number), state: "closed" as const }),
    },
  },
});
