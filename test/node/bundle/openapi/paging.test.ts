import { expect, test } from "vitest";
import { Description } from "../../../../src/languages/openapi/description.ts";
import { pagingOf } from "../../../../src/languages/openapi/paging.ts";
import { Schemas } from "../../../../src/languages/openapi/schemas.ts";

const schemas = new Schemas(
  new Description("", { openapi: "3.1.0", info: { title: "", version: "" }, paths: {} }),
);

/** The schema of an example; texts that begin with `http` have the format `uri`. */
function schemaOf(example: unknown): object {
  if (Array.isArray(example)) return { type: "array", items: schemaOf(example[0]) };
  if (typeof example === "object" && example !== null) {
    const members = Object.entries(example).map(([name, one]) => [name, schemaOf(one)]);
    return { type: "object", properties: Object.fromEntries(members) };
  }
  if (typeof example !== "string") return { type: [typeof example, "null"] };
  return { type: ["string", "null"], ...(example.startsWith("http") && { format: "uri" }) };
}

test.each<[answer: object, parameters: string[], paging: object | undefined]>([
  [{ next_cursor: "x" }, ["cursor"], { at: "next_cursor", cursor: "cursor" }],
  [{ meta: { nextCursor: "x" } }, ["cursor"], { at: "meta.nextCursor", cursor: "cursor" }],
  [{ nextPageToken: "x" }, ["pageToken"], { at: "nextPageToken", cursor: "pageToken" }],
  [{ next_page_token: "x" }, ["page_token"], { at: "next_page_token", cursor: "page_token" }],
  [{ NextToken: "x" }, ["NextToken"], { at: "NextToken", cursor: "NextToken" }],
  [{ NextMarker: "x" }, ["Marker"], { at: "NextMarker", cursor: "Marker" }],
  [
    { NextContinuationToken: "x" },
    ["continuation-token"],
    { at: "NextContinuationToken", cursor: "continuation-token" },
  ],
  [
    { meta: { next_token: "x" } },
    ["pagination_token"],
    { at: "meta.next_token", cursor: "pagination_token" },
  ],
  [
    { LastEvaluatedKey: "x" },
    ["ExclusiveStartKey"],
    { at: "LastEvaluatedKey", cursor: "ExclusiveStartKey" },
  ],
  [{ metadata: { continue: "x" } }, ["continue"], { at: "metadata.continue", cursor: "continue" }],
  [{ cursor: "x" }, ["cursor", "limit"], { at: "cursor", cursor: "cursor" }],
  [
    { paging: { next: { after: "x", link: "y" } } },
    ["after"],
    { at: "paging.next.after", cursor: "after" },
  ],
  [
    { paging: { cursors: { before: "x", after: "y" } } },
    ["after"],
    { at: "paging.cursors.after", cursor: "after" },
  ],
  [
    { pages: { next: { page: 2, starting_after: "x" } } },
    ["starting_after"],
    { at: "pages.next.starting_after", cursor: "starting_after" },
  ],
  [
    { data: { pageInfo: { endCursor: "x", hasNextPage: true } } },
    ["after"],
    { at: "data.pageInfo.endCursor", cursor: "after" },
  ],
  [
    { meta: { after_cursor: "x" } },
    ["page[after]"],
    { at: "meta.after_cursor", cursor: "page[after]" },
  ],
  [
    { meta: { page: { after: "x" } } },
    ["page[cursor]"],
    { at: "meta.page.after", cursor: "page[cursor]" },
  ],
  [
    { has_more: true, data: [{ id: "x" }] },
    ["starting_after"],
    { at: "data.id", cursor: "starting_after" },
  ],
  [
    { data: [{ id: "x" }], has_more: true, last_id: "x" },
    ["after_id"],
    { at: "last_id", cursor: "after_id" },
  ],
  [{ data: [{ id: "x" }] }, ["starting_after"], undefined],
  [{ next_page: 2 }, ["page"], { at: "next_page", cursor: "page" }],
  [{ meta: { next_page: 2 } }, ["page", "per_page"], { at: "meta.next_page", cursor: "page" }],
  [{ next_offset: 20 }, ["offset"], { at: "next_offset", cursor: "offset" }],
  [
    { next_page: { offset: "x", uri: "https://" } },
    ["offset"],
    { at: "next_page.offset", cursor: "offset" },
  ],
  [{ records: [{ id: "x" }], offset: "x" }, ["offset"], { at: "offset", cursor: "offset" }],
  [{ offset: 20, total: 100 }, ["offset"], undefined],
  [{ page: 1, pages: 4 }, ["page"], undefined],
  [{ next: "https://x" }, ["cursor"], { at: "next" }],
  [{ next: "https://x" }, ["page"], { at: "next" }],
  [{ next: "x" }, ["limit"], { at: "next" }],
  [{ next: "x" }, ["cursor"], { at: "next", cursor: "cursor" }],
  [{ next: "x" }, ["page"], { at: "next", cursor: "page" }],
  [{ links: { next: "x" } }, [], { at: "links.next" }],
  [{ _links: { next: { href: "x" } } }, ["page"], { at: "_links.next.href" }],
  [{ "@odata.nextLink": "x" }, ["$skip"], { at: "@odata.nextLink" }],
  [{ nextLink: "x" }, ["$skipToken"], { at: "nextLink" }],
  [{ next_page_url: "x" }, ["page"], { at: "next_page_url" }],
  [{ id: "x", name: "y" }, ["after"], undefined],
  [{ next_cursor: "x" }, [], undefined],
])("The pages of %j with %j are followed by %j.", (answer, parameters, paging) => {
  const named = parameters.map((key) => ({ key, place: "query" }));
  expect(pagingOf(schemaOf(answer), undefined, named, schemas)).toEqual(paging);
});
