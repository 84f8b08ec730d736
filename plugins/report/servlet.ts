/** Reports on RFCs, one request after the other: what is still in force, and what has replaced the rest. */
import { defineServlet, type Context } from "edge-servlets/servlet";

/** Between two requests, in ms: the RFC Editor serves everybody for nothing. */
const PAUSE = 1000;
/** Documents in one report, with those that have replaced others. */
const MOST = 60;

const TEXT = { type: "string" } as const;
const NUMBER = { type: "integer" } as const;
const NUMBERS = { type: "array", items: NUMBER } as const;

type Document = Awaited<ReturnType<typeof lookUp>>;

export default defineServlet({
  tools: {
    rfc_report: {
      title: "Report on RFCs",
      description:
        "Looks up RFCs at the RFC Editor and reports title, status and date of each, what updates it, and what has replaced it, through to what is in force today. Use it to check references. Takes about a second for each document, and tells how far it is.",
      input: {
        type: "object",
        properties: {
          rfcs: {
            type: "array",
            items: { type: "integer", minimum: 1, maximum: 99999 },
            minItems: 1,
            maxItems: 30,
            description: "Their numbers, such as 2616",
          },
        },
        required: ["rfcs"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          documents: {
            type: "array",
            description: "Those that were asked for, then their replacements",
            items: {
              type: "object",
              properties: {
                rfc: NUMBER,
                title: TEXT,
                status: { type: "string", description: "Such as INTERNET STANDARD" },
                published: { type: "string", description: "Month and year" },
                replacedBy: { ...NUMBERS, description: "Empty where it is in force" },
                updatedBy: NUMBERS,
              },
              required: ["rfc", "title", "status", "published", "replacedBy", "updatedBy"],
            },
          },
          failures: {
            type: "array",
            description: "Those that could not be looked up",
            items: {
              type: "object",
              properties: { rfc: NUMBER, why: TEXT },
              required: ["rfc", "why"],
            },
          },
        },
        required: ["documents", "failures"],
      },
      annotations: { readOnlyHint: true, openWorldHint: true },
      async handler({ rfcs }, context) {
        const documents: Document[] = [];
        const failures: { rfc: number; why: string }[] = [];
        const wanted = new Set(rfcs);
        let done = 0;
        // Visits what is added on the way, too.
        for (const rfc of wanted) {
          if (done > 0) await context.sleep(PAUSE);
          let told: string;
          try {
            const document = await lookUp(rfc, context);
            documents.push(document);
            for (const newer of document.replacedBy) if (wanted.size < MOST) wanted.add(newer);
            told = document.title;
          } catch (error) {
            told = error instanceof Error ? error.message : String(error);
            failures.push({ rfc, why: told });
          }
          context.progress(++done, wanted.size, `RFC ${rfc}: ${told}`);
        }
        const failed = failures.map(({ rfc, why }) => `\n- RFC ${rfc} is missing: ${why}`);
        return {
          content: [{ type: "text" as const, text: table(documents) + failed.join("") }],
          structuredContent: { documents, failures },
        };
      },
    },
  },
});

async function lookUp(rfc: number, { fetch }: Context) {
  const response = await fetch(`https://www.rfc-editor.org/rfc/rfc${rfc}.json`);
  if (response.status === 404) throw new Error("There is no such RFC.");
  if (!response.ok) throw new Error(`The RFC Editor answered with ${response.status}.`);
  const found = (await response.json()) as Record<string, unknown>;
  const text = (key: string, other = key) => String(found[key] ?? found[other] ?? "unknown").trim();
  /** Of "RFC9110", and not of "STD0097". */
  const numbers = (key: string) =>
    [found[key] ?? []].flat().flatMap((id) => Number(/^RFC0*(\d+)$/.exec(String(id))?.[1]) || []);
  return {
    rfc,
    title: text("title"),
    status: text("status", "pub_status"),
    published: text("pub_date"),
    replacedBy: numbers("obsoleted_by"),
    updatedBy: numbers("updated_by"),
  };
}

function table(documents: Document[]): string {
  const named = (rfcs: number[]) => rfcs.map((rfc) => `RFC ${rfc}`).join(", ");
  const rows = documents.map(
    ({ rfc, title, status, published, replacedBy, updatedBy }) =>
      `| RFC ${rfc} | ${title.replaceAll("|", "\\|")} | ${status} | ${published} | ${named(replacedBy) || "in force"} | ${named(updatedBy)} |\n`,
  );
  const columns = "| document | title | status | published | replaced by | updated by |\n";
  return `${columns}${"| --- ".repeat(6)}|\n${rows.join("")}`;
}
