/** Registries that try to get logins and tokens of other hosts. */
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { adding } from "./adding.ts";
import { sha256, USER } from "./registry.ts";

const { registry, at, source, add } = adding();

interface Seen {
  url: string;
  authorization: string | undefined;
  body: string;
}

/** A token service of another registry, at which the user has a login. */
let victim: {
  host: string;
  seen: Seen[];
  answer: (request: IncomingMessage, response: ServerResponse) => void;
};
const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (part: string) => (body += part));
  request.on("end", () => {
    victim.seen.push({ url: request.url!, authorization: request.headers.authorization, body });
    victim.answer(request, response);
  });
});

const giveToken = (_: IncomingMessage, response: ServerResponse) =>
  response.setHeader("content-type", "application/json").end('{"token":"of-the-victim"}');

beforeEach(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  victim = { host: `127.0.0.1:${port}`, seen: [], answer: giveToken };
});

afterEach(async () => {
  delete process.env["TOKEN_SERVICES"];
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const auth = Buffer.from(`${USER.name}:${USER.password}`).toString("base64");

const login = async (auths: Record<string, object>) => {
  await mkdir(at("docker"), { recursive: true });
  await writeFile(at("docker/config.json"), JSON.stringify({ auths }));
};

const challenge = (value: string) => (response: ServerResponse) =>
  void response.writeHead(401, { "www-authenticate": value }).end();

const pull = () => add(source("ada/time"), { allowUnsigned: true }).catch(String);

const MANIFEST_PATH = "/v2/ada/time/manifests/latest";

test.each([{ auth }, { username: USER.name, password: USER.password }, { identitytoken: "id" }])(
  "a registry that names another's token service gets no use of the login there: %o",
  async (entry) => {
    await login({ [victim.host]: entry });
    const realm = `http://${victim.host}/token`;
    registry().faults.set(
      MANIFEST_PATH,
      challenge(
        `Bearer realm="${realm}",service="victim",scope="repository:victim/secret:pull,push"`,
      ),
    );
    await pull();
    expect(victim.seen).toHaveLength(1);
    const [{ authorization, url, body }] = victim.seen as [Seen];
    expect({ authorization, body }).toEqual({ authorization: undefined, body: "" });
    const asked = new URL(url, realm).searchParams;
    expect(asked.getAll("scope")).toEqual(["repository:ada/time:pull"]);
  },
);

test.each([
  ["in the challenge", "", ',scope="repository:other/secret:pull,push"'],
  ["in the realm", "?scope=repository:other/secret:push&Scope=registry:catalog:*", ""],
])("the scope is ours, whatever the registry names %s", async (_, query, parameters) => {
  for (const entry of [{ auth }, { identitytoken: "id" }]) {
    await login({ [registry().host]: entry });
    const asked: string[] = [];
    registry().faults.set("/token", (response) => {
      asked.push(response.req.url!);
      response.setHeader("content-type", "application/json").end('{"token":"t"}');
    });
    const realm = `http://${registry().host}/token${query}`;
    registry().faults.set(MANIFEST_PATH, challenge(`Bearer realm="${realm}"${parameters}`));
    await pull();
    expect(asked).toHaveLength(1);
    expect(decodeURIComponent(asked[0]!)).not.toMatch(/push|other|catalog/);
  }
});

test("a token service that the configuration names gets the registry's login", async () => {
  await login({ [registry().host]: { auth } });
  process.env["TOKEN_SERVICES"] = `other.example=a.example, ${registry().host}=${victim.host}`;
  registry().faults.set(MANIFEST_PATH, challenge(`Bearer realm="http://${victim.host}/token"`));
  await pull();
  expect(victim.seen.map((one) => one.authorization)).toEqual([`Basic ${auth}`]);
});

const named = (service?: string) =>
  `Bearer realm="http://${victim.host}/token"${service === undefined ? "" : `,service="${service}"`}`;
/** The requests with a login at a token service that two registries share. */
const servicesAsked = () =>
  victim.seen
    .filter(({ authorization, body }) => authorization !== undefined || body !== "")
    .map(({ url, body }) => {
      const asked = new URLSearchParams(body === "" ? url.split("?")[1] : body);
      return asked.getAll("service");
    });

describe.each([{ auth }, { identitytoken: "id" }])("at a shared token service, by %o", (entry) => {
  test.each([
    ["of the other registry", "victim.example"],
    ["of a subdomain", "x.HOST"],
    ["of the token service", "VICTIM"],
    ["that is empty", ""],
    ["of two", "HOST victim.example"],
    ["in other letters", "CONTAINER_REGISTRY"],
  ])("a registry gets no token for a service %s", async (_, text) => {
    await login({ [registry().host]: entry });
    const service = text.replace("HOST", registry().host).replace("VICTIM", victim.host);
    for (const own of ["", "/container_registry"]) {
      process.env["TOKEN_SERVICES"] = `${registry().host}=${victim.host}${own}`;
      registry().faults.set(MANIFEST_PATH, challenge(named(service)));
      const message = await pull();
      expect(message).toContain("TOKEN_SERVICES");
      expect(message).toContain(registry().host);
      expect(servicesAsked()).toEqual([]);
    }
  });

  test.each([
    ["", undefined],
    ["", "HOST"],
    ["/container_registry", undefined],
    ["/container_registry", "container_registry"],
  ])("a registry gets one for its own (%s, %s)", async (own, text) => {
    await login({ [registry().host]: entry });
    process.env["TOKEN_SERVICES"] = `${registry().host}=${victim.host}${own}`;
    registry().faults.set(MANIFEST_PATH, challenge(named(text?.replace("HOST", registry().host))));
    await pull();
    expect(servicesAsked()[0]).toEqual([own === "" ? registry().host : "container_registry"]);
  });
});

test.each([
  "a.example=token.example/",
  "a.example=token.example/b/c",
  "token.example",
  "=token.example",
  "a.example=https://token.example/",
  "a=b=c",
])("TOKEN_SERVICES is checked: %s", async (text) => {
  process.env["TOKEN_SERVICES"] = text;
  registry().faults.set(MANIFEST_PATH, challenge(`Bearer realm="http://${victim.host}/token"`));
  expect(await pull()).toMatch(/TOKEN_SERVICES.*expected REGISTRY=HOST/);
  expect(victim.seen).toEqual([]);
});

test("the identity token is not posted along with a redirect", async () => {
  await login({ [registry().host]: { identitytoken: "id-t0ken" } });
  registry().faults.set(
    "/token",
    (response) => void response.writeHead(307, { location: `http://${victim.host}/token` }).end(),
  );
  registry().faults.set(MANIFEST_PATH, challenge(`Bearer realm="http://${registry().host}/token"`));
  await pull();
  expect(JSON.stringify(victim.seen)).not.toContain("id-t0ken");
});

test("a host to which a registry redirects cannot ask for credentials", async () => {
  await login({ [registry().host]: { auth }, [victim.host]: { auth } });
  victim.answer = (_, response) => challenge('Basic realm="x"')(response);
  registry().faults.set(
    MANIFEST_PATH,
    (response) => void response.writeHead(307, { location: `http://${victim.host}/x` }).end(),
  );
  await pull();
  expect(victim.seen.map((one) => one.authorization)).toEqual([undefined]);
  expect(registry().requests.map((one) => one.authorization)).toEqual([undefined]);
});

test("a token is not sent again after a redirect that came back from another host", async () => {
  await login({ [registry().host]: { auth } });
  registry().access = "bearer";
  const wasm = Buffer.from("not a module");
  registry().image("ada/time", "latest", [{ mediaType: "application/wasm", bytes: wasm }]);
  registry().faults.set(
    `/v2/ada/time/blobs/${sha256(wasm)}`,
    (response) => void response.writeHead(307, { location: `http://${victim.host}/x` }).end(),
  );
  victim.answer = (_, response) =>
    void response.writeHead(307, { location: `http://${registry().host}/v2/back` }).end();
  await pull();
  const back = registry().requests.filter(({ path }) => path === "/v2/back");
  expect(back.length).toBeGreaterThan(0);
  const others = [...back, ...victim.seen];
  expect(others.every((one) => one.authorization === undefined)).toBe(true);
});

describe.each([301, 302, 303, 307, 308])("a redirect with %d", (status) => {
  const redirecting = (location: string) => (response: ServerResponse) =>
    void response.writeHead(status, { location }).end();

  test.each([{ auth }, { identitytoken: "id-t0ken" }])(
    "of the registry's own token service takes no login along, so that it names no scope: %o",
    async (entry) => {
      await login({ [registry().host]: entry });
      const { host } = registry();
      const other = `http://${host}/token?service=${host}&scope=repository:other/secret:pull,push`;
      const seen: IncomingMessage[] = [];
      registry().faults.set(MANIFEST_PATH, challenge(`Bearer realm="http://${host}/token"`));
      registry().faults.set("/token", (response) => {
        seen.push(response.req);
        if (/other/.test(response.req.url!)) challenge("Basic")(response);
        else redirecting(other)(response);
      });
      await pull();
      const redirected = seen.filter(({ url }) => /other/.test(url!));
      expect(redirected).not.toEqual([]);
      for (const { method, headers } of redirected)
        expect([method, headers.authorization]).toEqual(["GET", undefined]);
    },
  );

  test.each(["http://VICTIM/x", "//VICTIM/x", "http://HOST@VICTIM/x", "HTTP://VICTIM"])(
    "to another port takes no login along: %s",
    async (text) => {
      await login({ [registry().host]: { auth }, [victim.host]: { auth } });
      const location = text.replace("VICTIM", victim.host).replace("HOST", registry().host);
      registry().access = "basic";
      registry().faults.set(MANIFEST_PATH, (response) =>
        response.req.headers.authorization === undefined
          ? challenge('Basic realm="x"')(response)
          : redirecting(location)(response),
      );
      await pull();
      expect(victim.seen).not.toEqual([]);
      expect(victim.seen.filter((one) => one.authorization === `Basic ${auth}`)).toEqual([]);
    },
  );
});

test.each([
  "http://VICTIM/token",
  "http://HOST@VICTIM/token",
  "http://HOST:x@VICTIM/token",
  "http://VICTIM\\@HOST/token",
  "HTTP://VICTIM/token#http://HOST/token",
])("a realm that only looks like the registry's gets no login: %s", async (text) => {
  await login({ [registry().host]: { auth }, [victim.host]: { auth } });
  const realm = text.replace("VICTIM", victim.host).replace("HOST", registry().host);
  registry().faults.set(MANIFEST_PATH, challenge(`Bearer realm="${realm}"`));
  await pull();
  expect(victim.seen.map((one) => one.authorization)).toEqual([undefined]);
});

test.each([
  ["Bearer first", 'Bearer realm="http://HOST/token",service="HOST", Basic realm="x"', "/token"],
  ["upper case", 'BEARER REALM="http://HOST/token",Service="HOST"', "/token"],
  ["Basic first", 'Basic realm="http://VICTIM/token", Bearer realm="http://VICTIM/token"', ""],
])("of two challenges, the first is answered at its own place: %s", async (_, text, path) => {
  await login({ [registry().host]: { auth }, [victim.host]: { auth } });
  const value = text.replaceAll("VICTIM", victim.host).replaceAll("HOST", registry().host);
  const asked: (string | undefined)[] = [];
  registry().faults.set("/token", (response) => {
    asked.push(response.req.url?.split("?")[0]);
    challenge("Basic")(response);
  });
  registry().faults.set(MANIFEST_PATH, challenge(value));
  await pull();
  expect(asked).toEqual(path === "" ? [] : [path]);
  expect(victim.seen).toEqual([]);
});

test.each([":pw@HOST", "u@HOST", "HOST?x.example", "HOST#x.example"])(
  "a source names a host and nothing else: %s",
  async (text) => {
    const name = `oci://${text.replace("HOST", registry().host)}/ada/time`;
    expect(await add(name, { allowUnsigned: true }).catch(String)).toMatch(
      /a host and its port come before the repository/,
    );
  },
);
