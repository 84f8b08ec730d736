// web: fetches pages of the hosts that servlet.json allows.
import { fail, input, output } from "../../lib/assembly/extism";
import { Json, decimal, quote } from "../../lib/assembly/json";
import { textOf } from "./html";
import { get } from "./http";

const MAX_CHARACTERS = 20_000;

export function describe(): i32 {
  return output(`{
  "tools": [{
    "name": "fetch_page",
    "description": "Fetches a web page by its URL and answers with its HTTP status, its content type and its text (HTML without the tags; at most 20,000 characters). Only the hosts that this server allows can be reached.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "url": {
          "type": "string",
          "pattern": "^https?://",
          "description": "Where the page is, such as https://en.wikipedia.org/wiki/WebAssembly"
        }
      },
      "required": ["url"],
      "additionalProperties": false
    }
  }]
}`);
}

export function call(): i32 {
  const params = Json.parse(input()).get("params");
  const name = params.get("name").string();
  if (name != "fetch_page") return fail(`Unknown tool: ${name}`);
  const url = params.get("arguments").get("url").string();
  if (!url.startsWith("https://") && !url.startsWith("http://")) {
    return fail("url must begin with https:// or http://.");
  }
  const answer = get(url);
  const type = answer.contentType == "" ? "no content type" : answer.contentType;
  const heading = `HTTP ${decimal(answer.status)}, ${type}`;
  const page = isText(answer.contentType)
    ? readable(answer.contentType, answer.body)
    : "(not a text)";
  const failed = answer.status >= 400 ? ',"isError":true' : "";
  return output(`{"content":[{"type":"text","text":${quote(heading + "\n\n" + page)}}]${failed}}`);
}

function isText(contentType: string): bool {
  if (contentType == "" || contentType.startsWith("text/")) return true;
  return (
    contentType.includes("json") ||
    contentType.includes("xml") ||
    contentType.includes("javascript")
  );
}

function readable(contentType: string, body: string): string {
  const page = contentType.includes("html") ? textOf(body) : body;
  if (page.length <= MAX_CHARACTERS) return page;
  const last = page.charCodeAt(MAX_CHARACTERS - 1);
  const end = last >= 0xd800 && last < 0xdc00 ? MAX_CHARACTERS - 1 : MAX_CHARACTERS; // not within a pair
  return `${page.substring(0, end)}\n\n(Cut after ${decimal(end)} of ${decimal(page.length)} characters.)`;
}
