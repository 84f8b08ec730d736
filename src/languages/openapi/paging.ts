/** Recognises how a response refers to the next page: by a `Link` header, a URL, a cursor, or the last item's id. */
import type { ResponseObject } from "./description.ts";
import type { Schemas } from "./schemas.ts";

export interface Paging {
  /** The path of the member with the URL or cursor of the next page; undefined for the header `Link`. */
  at?: string;
  /** The query parameter that takes the cursor; undefined for a URL. */
  cursor?: string;
}

/** Names of objects with members about paging. */
const AROUND =
  /^(response_?)?meta(data)?$|pag(e|ing|ination)|^_?links$|cursors?$|^next$|^(data|result)$/i;
/** Maximum depth of members about paging. */
const DEEPEST = 3;

/** Paths of members with the URL of the next page, in lower case and without punctuation in names. */
const URLS =
  /(^|\.)(odata)?next(link|url|uri|pageurl|pagelink|href)?$|(^|\.)next\.(href|url|uri|link)$/;

/** Members that are cursors, and the parameters that take them. Earlier pairs take precedence. */
const CURSORS: readonly (readonly [member: RegExp, parameter: RegExp])[] = [
  [/(^|\.)next$/, /^page(number)?$/],
  [/^offset$/, /^offset$/],
  [
    /(^|\.)next.*(cursor|token|key|marker|page)$|(^|\.)(continue|continuationtoken|cursor|nextid|next)$/,
    /token$|cursor$|^(continue|after|afterid|next|nextid|marker|pageinfo|pageafter|startkey|exclusivestartkey|startingafter|startafter|scrollid|position)$/,
  ],
  [
    /(^|\.)(endcursor|aftercursor|lastid|lastevaluatedkey)$|(^|\.)(cursors|page)\.after$|^marker$/,
    /cursor$|^(after|afterid|pageafter|startingafter|startafter|marker|exclusivestartkey)$/,
  ],
];

/** True if a member's name means the next value of a parameter: `next_offset` or `next.offset` for `offset`. */
const isNextOf = (member: string, parameter: string): boolean =>
  !/limit|size|count/.test(parameter) &&
  ["next", "next.", "nextpage."].some((before) => `.${member}`.endsWith(`.${before}${parameter}`));

/** A flag that there are more pages, for responses in which the id of the last item is the cursor. */
const MORE = /^(has_?)?more$/i;
const AFTER_ID = /^(starting_?after|start_?after|after|after_?id)$/i;

/** A parameter of the request, by its name in the API. */
interface PagingParameter {
  key: string;
  place: string;
}

/** The paging of a response with this schema; undefined if none is recognised. */
export function pagingOf(
  answer: unknown,
  response: ResponseObject | undefined,
  parameters: readonly PagingParameter[],
  schemas: Schemas,
): Paging | undefined {
  const hasLink = Object.keys(response?.headers ?? {}).some(
    (name) => name.toLowerCase() === "link",
  );
  if (hasLink) return {};
  const members = membersOf(answer, schemas);
  const query = parameters.filter(({ place }) => place === "query").map(({ key }) => key);
  for (const cursor of query) {
    const found = members.find(({ at }) => isNextOf(plain(at), plain(cursor)));
    if (found !== undefined) return { at: found.at, cursor };
  }
  const url = members.find(({ at }) => URLS.test(plain(at)));
  const isUrl = url?.format === "uri" || /link|ur[il]|href/.test(plain(url?.at ?? ""));
  if (url !== undefined && isUrl) return { at: url.at };
  for (const [member, parameter] of CURSORS) {
    const cursor = query.find((key) => parameter.test(plain(key)));
    const found = members.find(({ at }) => member.test(plain(at)));
    if (cursor !== undefined && found !== undefined) return { at: found.at, cursor };
  }
  if (url !== undefined) return { at: url.at };
  return lastItemOf(answer, query, schemas);
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z\d.]|^@odata\./g, "");

interface Member {
  /** Its path: `meta.next_cursor`. */
  at: string;
  format: unknown;
}

/** The strings and numbers in a response that may be about paging, outer members first. */
function membersOf(answer: unknown, schemas: Schemas): Member[] {
  const found: Member[] = [];
  let level = [{ schema: answer, before: "", references: [] as readonly string[] }];
  for (let depth = 0; depth < DEEPEST; depth++) {
    const inner: typeof level = [];
    for (const { schema, before, references } of level) {
      const around = schemas.shapeOf(schema, references);
      for (const [name, one] of Object.entries(around.properties)) {
        const { type, keywords } = schemas.shapeOf(one, around.references);
        const at = `${before}${name}`;
        const isNumber = type === "integer" || type === "number";
        if (type === "string" || type === "any" || (isNumber && /next|last/i.test(at)))
          found.push({ at, format: keywords["format"] });
        if (type === "object" && AROUND.test(name))
          inner.push({ schema: one, before: `${at}.`, references: around.references });
      }
    }
    level = inner;
  }
  return found;
}

/** Paging by the id of the last item, in a response with only one list and a flag that there are more items. */
function lastItemOf(
  answer: unknown,
  query: readonly string[],
  schemas: Schemas,
): Paging | undefined {
  const { properties, references } = schemas.shapeOf(answer);
  const cursor = query.find((key) => AFTER_ID.test(key));
  const lists = Object.entries(properties).filter(
    ([, one]) => schemas.shapeOf(one, references).type === "array",
  );
  if (cursor === undefined || lists.length !== 1) return undefined;
  if (!Object.keys(properties).some((name) => MORE.test(name))) return undefined;
  const [name, list] = lists[0]!;
  const { keywords, references: inner } = schemas.shapeOf(list, references);
  const hasId = "id" in schemas.shapeOf(keywords["items"], inner).properties;
  return hasId ? { at: `${name}.id`, cursor } : undefined;
}
