import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { accountProvider, PersonBrowser } from "../../../node/http/account-provider.ts";
import { builtFrom, request, serveLoading } from "../../../node/http/installing.ts";

/** Installed servlets, whose guests run in isolates of their own, use accounts; nothing that they keep has a token. */

type Json = Record<string, any>;

const port = await freePort();
const provider = await accountProvider(`http://127.0.0.1:${port}/account/callback`);
const logged: string[] = [];
let server: Awaited<ReturnType<typeof serveLoading>>;

beforeAll(async () => {
  const log = (text: string) => void logged.push(text);
  server = await serveLoading({ port, variables: provider.variables, log }, ["ada"]);
  const durable = "test/guests/durable";
  const alone = { skip_resources: [".*"], skip_resource_templates: [".*"] };
  await server.operator.put(await builtFrom(durable, "mailer", { prefix: "mailer", ...alone }));
  await server.operator.put(
    await builtFrom(durable, "keeper", { prefix: "keeper", state: "caller", ...alone }),
  );
});
afterAll(async () => {
  provider.close();
  await server.close();
});

const ada = { authorization: "Bearer ada" };
const answers = { credential: "ada", decision: "accept", login: "ada", password: "secret" };

const call = async (name: string, args: object) => {
  const params = { name, arguments: args };
  const result = (await request(server.url, { method: "tools/call", params }, ada)) as Json;
  return (result["structuredContent"] ?? result) as Json;
};

test.each(["mailer", "keeper"])(
  "%s",
  async (name) => {
    const tool = `${name}-plan`;
    const names = async () => {
      const { tools } = (await request(server.url, { method: "tools/list" }, ada)) as Json;
      return (tools as Json[]).map((one) => one["name"]);
    };
    await expect.poll(names, { timeout: 20_000 }).toContain(tool);
    const mail = (path: string) => ({
      steps: [
        { do: "http", url: `${provider.api}${path}`, account: "local" },
        { do: "keep", message: "kept" },
      ],
    });
    const { id, url } = await call(tool, mail("/mail"));
    const end = await new PersonBrowser().go(url, answers);
    expect(end.url.pathname).toBe(`/ask/${id}`);
    const { said } = await call("get_result", { id });
    expect(said).toEqual([[200, "The mail of ada"], ["kept"]]);
    const { token } = provider.seen.at(-1)!;
    expect(token).toMatch(/^[\w-]{20,}$/);
    const echoed = await call(tool, mail("/echo"));
    expect(JSON.stringify(echoed)).not.toContain(token);
    const { said: codings } = await call(tool, mail("/gzip"));
    expect(codings[0]).toEqual([200, "The mail, compressed"]);
    for (const path of ["/echo-gzip", "/echo-deflate"])
      expect((await call(tool, mail(path)))["said"][0]).toEqual(expect.any(String));
    const deflated = await call(tool, mail("/echo-deflate"));
    expect(deflated["said"][0]).toContain("compressed in another way");
    const refused = await call(tool, {
      steps: [{ do: "http", url: "http://mail.example/", account: "local" }],
    });
    expect(JSON.stringify(refused)).toContain("may not go to mail.example");

    // A secret, too, which is hidden in the log.
    const asked = await call(tool, {
      steps: [
        { do: "ask_secret", name: "word" },
        { do: "log", message: "It is swordfish, swordfish!" },
      ],
    });
    const page = await new PersonBrowser().go(asked["url"], { ...answers, secret: "swordfish" });
    expect(page.url.pathname).toBe(`/ask/${asked["id"]}`);
    expect((await call("get_result", { id: asked["id"] }))["said"]).toEqual(["swordfish", null]);
    expect(logged.join("\n")).toContain("It is [hidden], [hidden]!");
    expect(logged.join("\n")).not.toContain("swordfish");

    if (name !== "keeper") return;
    const exported = await server.operator.send("GET", `state-file/${name}?scope=caller:ada`);
    expect(exported.status).toBe(200);
    const memory = Buffer.from(await exported.arrayBuffer());
    expect(memory.length).toBeGreaterThan(100_000);
    expect(memory.includes(token!)).toBe(false);
  },
  60_000,
);

test("the page on which an account is connected shows every host and scope, however many there are", async () => {
  const hosts = ["127.0.0.1", ...Array.from({ length: 30 }, (_, nth) => `host${nth}.mail.example`)];
  const scopes = ["mail", ...Array.from({ length: 30 }, (_, nth) => `mail.of.folder${nth}.read`)];
  const more = { skip_resources: [".*"], skip_resource_templates: [".*"], prefix: "wide" };
  const accounts = {
    local: { scopes: [...scopes, "mail.send"], hosts: [...hosts, "evil.example"] },
  };
  await server.operator.put(await builtFrom("test/guests/durable", "wide", { ...more, accounts }));
  const asking = () =>
    call("wide-plan", { steps: [{ do: "http", url: `${provider.api}/mail`, account: "local" }] });
  await expect.poll(asking, { timeout: 20_000 }).toMatchObject({ status: "waiting" });
  const { url } = await asking();
  const isPage = ({ text }: { text: string }) => text.includes("Connect an account");
  const { text } = await new PersonBrowser().go(url, answers, isPage);
  for (const one of [...hosts, ...scopes, "evil.example", "mail.send"]) expect(text).toContain(one);
});
