/** Many tools, as those of business software are described: ten for each kind of record. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Profiles } from "../../../../src/server/kernel/servlets/profiles.ts";

/** How many tools a conversation has. */
export const SIZES = [10, 100, 300, 1000] as const;

const OF_EACH_KIND = 10;
/** The kinds are all pairs of these: 100. */
const FIELDS =
  "sales purchase support project travel training marketing legal facility payroll".split(" ");
const RECORDS =
  "order invoice contract ticket request budget contact meeting document campaign".split(" ");

/** The servlet of the tools from one size to the next. */
const nameOf = (size: number) => `records-${size}`;

/** Writes the servlets into a folder; each begins where the one before it ends. */
export async function writeRecords(folder: string): Promise<void> {
  let from = 0;
  for (const size of SIZES) {
    const own = join(folder, nameOf(size));
    await mkdir(own, { recursive: true });
    const kinds = Array.from({ length: (size - from) / OF_EACH_KIND }, (_, at) => {
      const nth = from / OF_EACH_KIND + at;
      return `${FIELDS[nth % 10]!} ${RECORDS[Math.floor(nth / 10)]!}`;
    });
    await writeFile(join(own, "servlet.ts"), sourceOf(kinds));
    from = size;
  }
}

/** For each size all tools listed, by search, and by search with scripts. */
export const profiles: Profiles = Object.fromEntries(
  SIZES.flatMap((size) => {
    const servlets = SIZES.filter((one) => one <= size).map(nameOf);
    return [
      [`listed-${size}`, { servlets }],
      [`search-${size}`, { servlets, tools: "search" as const }],
      [
        `code-${size}`,
        { servlets: [...servlets, "code"], tools: "search" as const, listed: ["code:run_code"] },
      ],
    ];
  }),
);

const sourceOf = (
  kinds: readonly string[],
) => `import { defineServlet } from "edge-servlets/servlet";

const ID = { type: "string", description: "The id, as lists give it" };
const TEXT = { type: "string", minLength: 1, maxLength: 5000 };
const PERSON = { type: "string", description: "The email address of a person of the organisation" };
const FROM = { type: "string", format: "date", description: "The first day, as 2026-05-31" };
const TO = { type: "string", format: "date", description: "The last day, as 2026-05-31" };
const LIMIT = { type: "integer", minimum: 1, maximum: 100, default: 20, description: "How many at most" };
const STATUS = { type: "string", enum: ["draft", "open", "waiting", "closed"] };
const LABELS = { type: "array", items: { type: "string" }, maxItems: 20, description: "Labels, in lower case" };
const fields = {
  title: { type: "string", maxLength: 200, description: "A short title" },
  description: { ...TEXT, description: "What it is about, in Markdown" },
  owner: PERSON, due: { type: "string", format: "date", description: "When it is due" }, status: STATUS, labels: LABELS,
};

const toolsOf = (kind: string) => {
  const name = kind.replace(" ", "_");
  const tool = (description: string, properties: object, required: string[], annotations: object) => ({
    description, annotations, handler: () => kind,
    input: { type: "object" as const, properties, required, additionalProperties: false },
  });
  const [reads, writes] = [{ readOnlyHint: true }, { destructiveHint: false }];
  return {
    ["list_" + name + "s"]: tool("Lists the " + kind + "s of the organisation, the newest first, a page at a time.", { status: STATUS, owner: PERSON, limit: LIMIT, cursor: { type: "string", description: "Where the last page ended" } }, [], reads),
    ["search_" + name + "s"]: tool("Finds " + kind + "s by words in their titles, descriptions and comments.", { query: { type: "string", maxLength: 200, description: "Words, of which all must be there" }, from: FROM, to: TO, limit: LIMIT }, ["query"], reads),
    ["get_" + name]: tool("Gets one " + kind + " with all its fields, comments and attachments.", { id: ID, include: { type: "array", items: { enum: ["comments", "attachments", "history"] }, description: "What else to give" } }, ["id"], reads),
    ["create_" + name]: tool("Creates a " + kind + " and tells its owner.", fields, ["title", "owner"], writes),
    ["update_" + name]: tool("Changes the given fields of a " + kind + "; others stay as they are.", { id: ID, ...fields }, ["id"], writes),
    ["delete_" + name]: tool("Deletes a " + kind + " for good, with its comments and attachments.", { id: ID, reason: { ...TEXT, description: "For the audit log" } }, ["id"], {}),
    ["assign_" + name]: tool("Makes a person the owner of a " + kind + ".", { id: ID, owner: PERSON, notify: { type: "boolean", default: true, description: "Whether to tell them by email" } }, ["id", "owner"], writes),
    ["comment_on_" + name]: tool("Adds a comment to a " + kind + ".", { id: ID, text: TEXT, mentions: { type: "array", items: PERSON, description: "Who is told" } }, ["id", "text"], writes),
    ["archive_" + name]: tool("Moves a " + kind + " to the archive, from which it can be brought back.", { id: ID }, ["id"], writes),
    ["export_" + name + "s"]: tool("Writes the " + kind + "s of a period into a file and gives its address.", { from: FROM, to: TO, format: { type: "string", enum: ["csv", "xlsx", "json"] }, columns: { type: "array", items: { type: "string" }, description: "All if absent" } }, ["from", "to"], reads),
  };
};

export default defineServlet({ tools: Object.assign({}, ...${JSON.stringify(kinds)}.map(toolsOf)) as ReturnType<typeof toolsOf> });
`;
