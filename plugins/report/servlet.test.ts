import { loadServlet, type Script } from "edge-servlets/testing";
import { describe, expect, test } from "vitest";

const report = await loadServlet(import.meta.dirname);

/** The RFC Editor's records of some RFCs: the members that the servlet reads. */
const KNOWN: Record<string, object> = {
  1: {
    title: "Host | Software",
    status: "UNKNOWN",
    pub_date: "April 1969",
    obsoleted_by: [],
    updated_by: [],
  },
  2616: {
    title: "Hypertext Transfer Protocol -- HTTP/1.1",
    status: "DRAFT STANDARD",
    pub_date: "June 1999",
    obsoleted_by: ["RFC7230", "RFC7231"],
    updated_by: ["RFC2817"],
  },
  7230: { title: "Message Syntax", pub_date: "June 2014", obsoleted_by: ["RFC9110", "RFC9112"] },
  7231: { title: "Semantics", pub_date: "June 2014", obsoleted_by: "RFC9110" },
  9110: { title: "HTTP Semantics", pub_status: "INTERNET STANDARD", obsoleted_by: null },
  9112: { title: "HTTP/1.1", updated_by: ["STD0099", "RFC00012"] },
};

const fetch: Script["fetch"] = ({ url }) => {
  const number = /^https:\/\/www\.rfc-editor\.org\/rfc\/rfc(\d+)\.json$/.exec(url)?.[1] ?? "";
  if (number === "500") return new Response("oops", { status: 500 });
  if (number === "501") return new Response("<html>");
  if (number === "502") throw new Error("the line is dead");
  if (Number(number) >= 1000 && Number(number) < 1100) {
    const next = Number(number) + 1;
    return Response.json({ title: `Number ${number}`, obsoleted_by: [`RFC${next}`] });
  }
  const known = KNOWN[number];
  return known ? Response.json(known) : new Response(null, { status: 404 });
};

/** Of the call, and of the same call interrupted after every step: it must come to the same. */
async function reported(rfcs: number[]) {
  const call = (alwaysReplay: boolean) =>
    report.callTool("rfc_report", { rfcs }, { fetch, alwaysReplay });
  const { recorded, ...undisturbed } = await call(false);
  const { recorded: _, ...interrupted } = await call(true);
  expect(interrupted).toEqual(undisturbed);
  const { content, structuredContent } = undisturbed.result;
  return {
    text: content[0]?.type === "text" ? content[0].text : "",
    ...(structuredContent as { documents: { rfc: number }[]; failures: object[] }),
    told: undisturbed.notifications.map(({ params }) => params),
    steps: recorded?.entries.map(({ what }) => what),
  };
}

describe("rfc_report", () => {
  test("reports on a document, as text and as data", async () => {
    const { text, documents, failures, steps } = await reported([1]);
    expect(text).toBe(
      `| document | title | status | published | replaced by | updated by |
| --- | --- | --- | --- | --- | --- |
| RFC 1 | Host \\| Software | UNKNOWN | April 1969 | in force |  |
`,
    );
    expect(documents).toEqual([
      {
        rfc: 1,
        title: "Host | Software",
        status: "UNKNOWN",
        published: "April 1969",
        replacedBy: [],
        updatedBy: [],
      },
    ]);
    expect(failures).toEqual([]);
    expect(steps).toEqual(["http GET www.rfc-editor.org"]);
  });

  test("goes on to what has replaced it, each once, with a pause before each", async () => {
    const { text, documents, told, steps } = await reported([2616, 2616]);
    expect(documents.map(({ rfc }) => rfc)).toEqual([2616, 7230, 7231, 9110, 9112]);
    expect(documents[3]).toMatchObject({ status: "INTERNET STANDARD", replacedBy: [] });
    expect(documents[4]).toMatchObject({ status: "unknown", updatedBy: [12] });
    expect(text).toContain("| June 1999 | RFC 7230, RFC 7231 | RFC 2817 |");
    expect(told.map((one) => [one?.["progress"], one?.["total"]])).toEqual([
      [1, 3],
      [2, 5],
      [3, 5],
      [4, 5],
      [5, 5],
    ]);
    expect(told[3]?.["message"]).toBe("RFC 9110: HTTP Semantics");
    const [first, ...rest] = steps!;
    expect([first, rest.join()]).toEqual([
      "http GET www.rfc-editor.org",
      Array.from({ length: 4 }, () => "sleep,http GET www.rfc-editor.org").join(),
    ]);
  });

  test("goes on after what cannot be looked up, and says why", async () => {
    const { text, documents, failures, told } = await reported([500, 501, 502, 404, 9110]);
    expect(documents.map(({ rfc }) => rfc)).toEqual([9110]);
    expect(failures).toMatchObject([
      { rfc: 500, why: "The RFC Editor answered with 500." },
      { rfc: 501, why: expect.stringContaining("'<'") },
      { rfc: 502, why: "The host www.rfc-editor.org could not be reached." },
      { rfc: 404, why: "There is no such RFC." },
    ]);
    expect(text).toContain("\n- RFC 404 is missing: There is no such RFC.");
    expect(told).toHaveLength(5);
  });

  test("ends somewhere", async () => {
    const { documents } = await reported([1000]);
    expect(documents).toHaveLength(60);
  });

  test.each([{ rfcs: [] }, { rfcs: [0] }, { rfcs: ["RFC 1"] }, {}])("refuses %j", async (args) => {
    const { result } = await report.callTool("rfc_report", args);
    expect(result.isError).toBe(true);
  });
});
