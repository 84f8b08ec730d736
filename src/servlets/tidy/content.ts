/** Content blocks and resource contents, in all variants that plugins write. */
import {
  isObject,
  type McpContentBlock,
  type Json,
  type ReadResourceResult,
} from "../../core/model.ts";
import { bytes } from "./bytes.ts";
import { bad, mediaType, nameOrKey, present, string, withoutEmpty } from "./members.ts";

function inferredType(block: Json): string {
  if (typeof block["text"] === "string" && block["text"] !== "") return "text";
  if (isObject(block["resource"]) || isObject(block["Resource"])) return "resource";
  if (typeof block["data"] === "string" && block["data"] !== "") {
    const about = string(block["mimeType"] || block["data"], "a block's mimeType");
    return /^\s*(?:data:\s*)?audio\//i.test(about) ? "audio" : "image";
  }
  return typeof block["uri"] === "string" ? "resource_link" : "text";
}

/** One block of content. */
export function content(value: unknown): McpContentBlock {
  const block = present(value, "a content block");
  const type =
    typeof block["type"] === "string" && block["type"] !== "" ? block["type"] : inferredType(block);
  switch (type) {
    case "text": {
      const text = string(block["text"], "a text block's text");
      // Text blocks have no mimeType in the protocol.
      const { mimeType: _, ...rest } = withoutEmpty(block, ["data"]);
      return { ...rest, type, text };
    }
    case "image":
    case "audio": {
      const { data, mimeType: read } = bytes(block["data"], `an ${type} block's data`);
      const given = string(
        block["mimeType"] || read || (type === "image" ? "png" : "wav"),
        `an ${type} block's mimeType`,
      );
      const mimeType = mediaType(given.includes("/") ? given : `${type}/${given.trim()}`);
      return { ...withoutEmpty(block, ["text"]), type, data, mimeType };
    }
    case "resource": {
      const { Resource: nested, ...rest } = block;
      const resource = contents(rest["resource"] ?? nested ?? rest, undefined);
      return { ...without(rest, resource), type, resource };
    }
    case "resource_link": {
      const uri = string(block["uri"], "a resource link's uri");
      return { ...withoutEmpty(block, ["mimeType"]), type, uri, name: nameOrKey(block, uri) };
    }
    default:
      throw bad("a content block has an unknown type");
  }
}

/** The members of `block` that have not moved into `resource`. */
function without(block: Json, resource: Json): Json {
  return Object.fromEntries(
    Object.entries(block).filter(
      ([key]) => key === "annotations" || key === "_meta" || !Object.hasOwn(resource, key),
    ),
  );
}

/** A resource's contents: flat, or with `text` or `blob` as an object; `uri` is the default for its URI. */
export function contents(
  value: unknown,
  uri: string | undefined,
): ReadResourceResult["contents"][number] {
  const outer = present(value, "a resource's contents");
  const inner = [outer["text"], outer["blob"]].find(isObject);
  const found =
    inner === undefined
      ? outer
      : present({ ...outer, text: null, blob: null, ...inner }, "a resource's contents");
  const { type: _type, data, text, blob, uri: own, ...rest } = withoutEmpty(found, ["mimeType"]);
  const shared = { ...rest, uri: string(own || uri, "a resource's uri") };
  if (typeof text === "string" && !(text === "" && (blob || data))) return { ...shared, text };
  const { data: read, mimeType } = bytes(blob ?? data, "a resource's blob");
  return { ...(mimeType !== undefined && { mimeType }), ...shared, blob: read };
}
