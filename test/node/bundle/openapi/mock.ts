/** An API made from its description: it answers requests that fit, with examples, and throws at all others. */
import { expect } from "vitest";
import { exampleOf } from "../../../../src/server/kernel/schema/example.ts";
import type { Json } from "../../../../src/server/kernel/core/model.ts";
import type {
  Description,
  OperationObject,
  Parameter,
  PathItem,
  RequestBody,
  ResponseObject,
} from "../../../../src/languages/openapi/description.ts";

export interface Mock {
  fetch(request: Request): Promise<Response>;
  /** The requests so far: method, path with query, and body. */
  sent: string[];
}

export function mockOf(description: Description, base: string): Mock {
  const sent: string[] = [];
  return {
    sent,
    async fetch(request) {
      const { method, url, headers } = request;
      expect(url.startsWith(base)).toBe(true);
      const rest = url.slice(base.length);
      const body = (await request.text()).replaceAll(/formdata-\S+|--\S*boundary\S*/gi, "BOUNDARY");
      sent.push(`${method} ${rest}${body === "" ? "" : ` ${body}`}`);
      const [path, item] = itemAt(description, rest.split("?")[0]!);
      const operation = item[method.toLowerCase() as "get"];
      if (operation === undefined) throw new Error(`The description has no ${method} ${path}`);
      const query = new URL(url).searchParams;
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) =>
        description.resolved<Parameter>(one),
      );
      for (const { name, required, ...one } of parameters) {
        if (one.in === "query" && required) expect([...query.keys()]).toContain(name);
      }
      expectBody(description, operation, body, headers.get("content-type") ?? "");
      return answerOf(description, operation);
    },
  };
}

function itemAt(description: Description, path: string): [string, PathItem] {
  const { paths } = description.document;
  const fitting = Object.keys(paths).filter((template) => {
    const pattern = template.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&");
    return new RegExp(`^${pattern.replaceAll(/\{[^}]*\}/g, "[^/]+")}$`).test(path);
  });
  const [found] = fitting.toSorted((a, b) => a.split("{").length - b.split("{").length);
  if (found === undefined) throw new Error(`The description has no path ${path}`);
  return [found, description.resolved<PathItem>(paths[found]!)];
}

function expectBody(
  description: Description,
  { requestBody }: OperationObject,
  body: string,
  type: string,
): void {
  if (requestBody === undefined) return expect(body).toBe("");
  const { content } = description.resolved<RequestBody>(requestBody);
  if (body === "") return;
  const known = Object.keys(content).map((one) => one.split(";")[0]);
  if (!known.includes("*/*")) expect(known).toContain(type.split(";")[0]);
  if (type.includes("json")) expect(() => JSON.parse(body)).not.toThrow();
}

function answerOf(description: Description, { responses = {} }: OperationObject): Response {
  const [status, given] = Object.entries(responses).find(([one]) => one.startsWith("2")) ?? [];
  if (given === undefined || status === "204") return new Response(null, { status: 204 });
  const { content = {} } = description.resolved<ResponseObject>(given);
  const [type, media] =
    Object.entries(content).find(([one]) => one.includes("json")) ??
    Object.entries(content)[0] ??
    [];
  if (type === undefined) return new Response(null, { status: 204 });
  const headers = { "content-type": type };
  if (!type.includes("json")) return new Response("example", { headers });
  const { components } = description.document;
  const schema = { ...(media!.schema as Json), components };
  return Response.json(exampleOf({ type: "object", ...schema }) ?? {}, { headers });
}
