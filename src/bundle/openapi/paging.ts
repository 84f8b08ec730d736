/** Recognises how the pages of a list follow each other: by the header `Link`, a URL in the answer, or a cursor. */
import type { ResponseObject } from "./description.ts";
import type { Schemas } from "./schemas.ts";

export interface Paging {
  /** The member of the answer that names the next page; the header `Link` does if it is undefined. */
  at?: string;
  /** The parameter of the query that takes it; if undefined, it is a URL. */
  cursor?: string;
}

/** Members that name a next page, and those that they may be in. */
const NEXT =
  /^(@odata\.)?(next([-_]?(cursor|page[-_]?token|token|link|url|page|key|marker))?|continue|cursor)$/i;
const AROUND = /^(response_)?meta(data)?$|pag(e|ing|ination)|^_?links$|cursor/i;
/** Members that are URLs. */
const URLS = /^(@odata\.)?next([-_]?(link|url))?$/i;
const CURSORS =
  /^(\$?(skip)?token|cursor|page[-_]?token|next[-_]?(token|cursor)|after|continue|marker|start[-_]?cursor|page\[(cursor|after)\])$/i;

interface Named {
  key: string;
  place: string;
}

/** How the pages of an answer with this schema follow each other; undefined if it does not say. */
export function pagingOf(
  answer: unknown,
  response: ResponseObject | undefined,
  parameters: readonly Named[],
  schemas: Schemas,
): Paging | undefined {
  const hasLink = Object.keys(response?.headers ?? {}).some(
    (name) => name.toLowerCase() === "link",
  );
  if (hasLink) return {};
  const at = nextIn(answer, schemas);
  if (at === undefined) return undefined;
  const cursor = parameters.find(({ key, place }) => place === "query" && CURSORS.test(key))?.key;
  const isUrl = URLS.test(at.slice(at.startsWith("@") ? 0 : at.lastIndexOf(".") + 1));
  if (cursor !== undefined && !/link|url/i.test(at)) return { at, cursor };
  return isUrl ? { at } : undefined;
}

/** The member of an answer that names the next page. */
function nextIn(answer: unknown, schemas: Schemas): string | undefined {
  const { properties, references } = schemas.shapeOf(answer);
  const isText = (schema: unknown) =>
    ["string", "any"].includes(schemas.shapeOf(schema, references).type);
  const own = Object.keys(properties).find((name) => NEXT.test(name) && isText(properties[name]));
  if (own !== undefined) return own;
  for (const name of Object.keys(properties).filter((one) => AROUND.test(one))) {
    const inner = schemas.shapeOf(properties[name], references);
    const found = Object.keys(inner.properties).find(
      (one) => NEXT.test(one) && isText(inner.properties[one]),
    );
    if (found !== undefined) return `${name}.${found}`;
  }
  return undefined;
}
