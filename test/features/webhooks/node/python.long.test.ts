import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadServlet } from "../../../../src/tools/testing/index.ts";

/** Webhooks in servlets in Python. */

async function servletOf(source: string) {
  await mkdir(".bundle", { recursive: true });
  const folder = await mkdtemp(join(".bundle", "py-hooks-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "servlet.py"), source);
  return loadServlet(folder);
}

test("functions receive deliveries, and know the addresses of their callers", async () => {
  const servlet = await servletOf(`
from edge_servlets import Context, WebhookRequest, tool, webhook

NONE = {"type": "none"}

@webhook("all", verify=NONE, description="All of it")
def all_of_it(request: WebhookRequest, ctx: Context) -> str:
    return f"{request.name} {request.id} {request.headers['x-a']} {request.body} {request.is_base64} {ctx.client.principal}"

@webhook("later", verify=NONE)
async def later(ctx: Context) -> str:
    return await ctx.webhook("all")

@webhook("nothing", verify=NONE)
def nothing(request: WebhookRequest) -> None:
    pass

@webhook("bad", verify=NONE)
def bad(request) -> str:
    raise ValueError("It fails.")

@tool
async def revoke(ctx: Context) -> bool:
    return await ctx.revoke_webhook("all")
`);
  const hostFunctions = {
    "webhooks.url": (payload: unknown) => JSON.stringify(payload),
    "webhooks.revoke": () => true,
  };
  const delivery = { id: "one", headers: { "x-a": "b" }, body: "hello" };
  const text = async (name: string) => {
    const { result } = await servlet.receiveWebhook(name, delivery, { hostFunctions });
    return (result.content[0] as { text: string } | undefined)?.text;
  };
  expect(await text("all")).toMatch(/^all one b hello False servlet:py-hooks-/);
  expect(await text("later")).toBe('{"name":"all"}');
  expect(await text("nothing")).toBeUndefined();
  expect((await servlet.receiveWebhook("bad")).result).toMatchObject({
    isError: true,
    content: [{ text: "It fails." }],
  });
  await expect(servlet.receiveWebhook("other")).rejects.toThrow('There is no webhook "other".');
  const { result } = await servlet.callTool("revoke", {}, { hostFunctions });
  expect(result.structuredContent).toEqual({ result: true });
});

test.each([
  [
    "of the same name",
    `@webhook("a", verify={"type": "none"})\ndef b(request): ...\n`,
    /another webhook "a"/,
  ],
  [
    "with two parameters",
    `@webhook("b", verify={"type": "none"})\ndef b(one, two): ...\n`,
    /one parameter/,
  ],
  [
    "without verification",
    `@webhook("b", verify=None)\ndef b(request): ...\n`,
    /how deliveries are verified/,
  ],
])("a webhook %s is refused", async (_name, more, message) => {
  const source = `from edge_servlets import webhook\n\n@webhook("a", verify={"type": "none"})\ndef a(request): ...\n\n${more}`;
  await expect(servletOf(source)).rejects.toThrow(message);
});
