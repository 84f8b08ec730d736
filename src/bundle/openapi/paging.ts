/** Recognises how an answer leads to its next page: by the header `Link`, a URL in it, or a cursor. */
import type { ResponseObject } from "./description.ts";
import type { Schemas } from "./schemas.ts";

export interface Paging {
  /** The member of the answer that has the URL or cursor of the next page; undefined for the header `Link`. */
  at?: string;
  /** The parameter of the query that takes the cursor; undefined for a URL. */
  cursor?: string;
}

/** Names of members that lead to the next page, and of objects that these may be in. */
const NEXT =
  /^(@odata\.)?(next([-_]?(cursor|page[-_]?token|token|link|url|page|key|marker))?|continue|cursor)$/i;
const AROUND = /^(response_)?meta(data)?$|pag(e|ing|ination)|^_?links$|cursor/i;
/** Of those members, the ones that are URLs. */
const URLS = /^(@odata\.)?next([-_]?(link|url))?$/i;
/** Names of parameters that take a cursor. */
const CURSORS =
  /^(\$?(skip)?token|cursor|page[-_]?token|next[-_]?(token|cursor)|after|continue|marker|start[-_]?cursor|page\[(cursor|after)\])$/i;

interface Named {
  key: string;
  place: string;
}

/** How an answer with this schema leads to its next page; undefined if it does not. */
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

/** The member of an answer that leads to the next page, as a path of names. */
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
