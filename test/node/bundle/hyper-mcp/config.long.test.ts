import { describe, expect, test } from "vitest";
import { readConfig } from "../../../../src/tools/bundle/hyper-mcp/config.ts";

const read = (text: string, environment: Record<string, string> = {}, file = "config.json") =>
  readConfig(file, text, environment);

/** Each of its names is ten times the one before. */
const bomb = Array.from(
  { length: 9 },
  (_, at) =>
    `n${at}: &n${at} [${Array(10)
      .fill(at === 0 ? "hush" : `*n${at - 1}`)
      .join()}]`,
).join("\n");
const TOO_COMPLEX = /nests too deeply, or its aliases repeat too much.*, or it has too many keys/;

const json = (plugin: object, more: object = {}) =>
  JSON.stringify({ plugins: { demo: { url: "file:///demo.wasm", ...plugin } }, ...more });

const configOf = (config: object) => json({ runtime_config: { env_vars: config } });

const envVars = (text: string, environment?: Record<string, string>, file?: string) =>
  read(text, environment, file).plugins["demo"]!.runtime_config!.env_vars;

test.each([
  ["config.json", configOf({ A: "b" })],
  ["config.yaml", "plugins: {demo: {url: a, runtime_config: {env_vars: {A: b}}}}"],
  ["config.toml", '[plugins.demo]\nurl = "a"\nruntime_config = { env_vars = { A = "b" } }'],
])("%s may begin with a byte order mark", (file, text) => {
  expect(envVars(`\ufeff${text}`, {}, file)).toEqual({ A: "b" });
});

describe("scalars of which one meaning is right are taken as texts", () => {
  const variables =
    "DEBUG: false\nPORT: 8080\nVERSION: 1.10\nZIP: 01234\nBIG: 12345678901234567890";
  test.each([
    [
      "config.yaml",
      `plugins: {demo: {url: a, runtime_config: {env_vars: {${variables.replaceAll("\n", ", ")}}}}}`,
      { DEBUG: "false", PORT: "8080", VERSION: "1.10", ZIP: "01234", BIG: "12345678901234567890" },
    ],
    [
      "config.json",
      '{"plugins": {"demo": {"url": "a", "runtime_config": {"env_vars": {"A": true, "B": 1.50, "C": -3, "D": "5"}}}}}',
      { A: "true", B: "1.50", C: "-3", D: "5" },
    ],
    [
      "config.toml",
      '[plugins.demo]\nurl = "a"\n[plugins.demo.runtime_config.env_vars]\nA = false\nB = 9007199254740993\nC = 2026-01-02',
      { A: "false", B: "9007199254740993", C: "2026-01-02" },
    ],
  ])("variables in %s", (file, text, variables_) => {
    expect(envVars(text, {}, file)).toEqual(variables_);
  });

  test("one host, pattern or folder for a list of it, and a number of bytes", () => {
    const text = `plugins:
  demo:
    url: a
    description: 7
    runtime_config: { allowed_hosts: "*", skip_tools: x.*, allowed_paths: /tmp, memory_limit: 1048576 }`;
    const { description, runtime_config } = read(text, {}, "config.yaml").plugins["demo"]!;
    expect({ description, ...runtime_config }).toEqual({
      description: "7",
      allowed_hosts: ["*"],
      skip_tools: ["x.*"],
      allowed_paths: ["/tmp"],
      memory_limit: "1048576",
    });
  });
});

describe("references", () => {
  test("are replaced in paths of files by HOME, and by their defaults where unset or empty", () => {
    const text = json({
      url: "file://${HOME}/${DIR:-wasm}/${EMPTY:-demo}.wasm",
      description: "costs $5, $HOME, $${HOME}",
    });
    const { demo } = read(text, { HOME: "/home/ada", EMPTY: "" }).plugins;
    expect(demo!.url).toBe("file:///home/ada/wasm/demo.wasm");
    expect(demo!.description).toBe("costs $5, $HOME, ${HOME}");
  });

  test.each([
    [
      "config.json",
      '{"dynamic_loading": ${ON}, "plugins": {"demo": {"url": "file:///demo", "runtime_config": {"env_vars": {"K": "${KEY}"}}}}}',
    ],
    [
      "config.yaml",
      "dynamic_loading: ${ON}\nplugins:\n  demo:\n    url: file:///demo\n    runtime_config:\n      env_vars:\n        K: ${KEY}\n",
    ],
    [
      "config.yml",
      "dynamic_loading: ${ON}\nplugins: {demo: {url: 'file:///demo', runtime_config: {env_vars: {K: '${KEY}'}}}}\n",
    ],
    [
      "config.toml",
      'dynamic_loading = ${ON}\n[plugins.demo]\nurl = "file:///demo"\n[plugins.demo.runtime_config.env_vars]\nK = "${KEY}"\n',
    ],
  ])("can be other things than text in %s", (file, text) => {
    const config = read(text, { ON: "true", KEY: "hidden-value" }, file);
    expect(config.dynamic_loading).toBe(true);
    expect(envVars(text, { ON: "true", KEY: "hidden-value" }, file)).toEqual({ K: "${KEY}" });
  });

  test("are replaced by their defaults, also by lists, where they stand alone", () => {
    const runtime = {
      allowed_hosts: "${HOSTS:-[a.example, '*.b.example']}",
      memory_limit: "${M:-64}",
    };
    const yaml = `dynamic_loading: \${ON:-false}
plugins: { demo: { url: a, runtime_config: ${JSON.stringify(runtime)} } }`;
    const config = read(yaml, {}, "config.yaml");
    expect(config.dynamic_loading).toBe(false);
    expect(config.plugins["demo"]!.runtime_config).toEqual({
      allowed_hosts: ["a.example", "*.b.example"],
      memory_limit: "64",
    });
    expect(() => read(yaml, { HOSTS: "hush" }, "config.yaml")).toThrow(/env_vars only.*HOSTS\)$/);
  });

  test("stay in env_vars, whether their variables are set or not", () => {
    const config = { A: "${SET}", B: "${UNSET}", C: "a ${SET:-x} b", D: "$${SET}", E: "plain" };
    expect(envVars(configOf(config), { SET: "hidden-value" })).toEqual(config);
  });

  test.each<Record<string, string>>([{}, { A: "hush", B: "hush", C: "hush", ALL: "{}" }])(
    "are refused elsewhere, all of them by name and place: %o",
    (environment) => {
      const text = json({
        url: "file:///${B}/${A}/${B}",
        runtime_config: { env_vars: { K: "${C}" } },
      });
      const refused = /in env_vars only: [^:]*\(plugins\.demo\.url: A, plugins\.demo\.url: B\)$/;
      expect(() => read(text, environment)).toThrow(refused);
      expect(() => read('{"plugins": ${ALL}}', environment)).toThrow(
        /in env_vars only: [^:]*\(plugins: ALL\)$/,
      );
    },
  );

  const SECRET = "AWS_SECRET_ACCESS_KEY";
  const SET = { [SECRET]: "hush", HOME: "/home/hush", TRUE: "true" };
  test.each([
    ["a URL's path", { url: "https://evil.example/${X}/a.wasm" }],
    ["a URL's host", { url: "https://${X}.evil.example/a.wasm" }],
    ["an image's tag", { url: "oci://evil.example/a:${X}" }],
    ["a bucket", { url: "s3://${X}/a.wasm" }],
    ["a URL's query", { url: "https://evil.example/a.wasm?${X}" }],
    ["a URL with a default", { url: "https://evil.example/${X:-a}.wasm" }],
    ["a whole URL", { url: "${X}" }],
    ["a path", { url: undefined, path: "/plugins/${X}.wasm" }],
    ["the home in a URL", { url: "https://evil.example/${HOME}/a.wasm" }],
    ["the home in a file's host", { url: "file://evil${HOME}/a.wasm" }],
    ["the home in a description", { description: "${HOME}" }],
    ["true in a URL", { url: "https://evil.example/${TRUE}/a.wasm" }],
    ["a description", { description: "see ${X}" }],
    ["a host", { runtime_config: { allowed_hosts: ["${X}.evil.example"] } }],
    ["a folder", { runtime_config: { allowed_paths: ["/${X}"] } }],
    ["a name in env_vars", { runtime_config: { env_vars: { "A_${X}": "x" } } }],
    [
      "a name of a secret",
      { runtime_config: { allowed_secrets: [{ service: "${X}", user: "u" }] } },
    ],
    ["a skipped tool", { runtime_config: { skip_tools: ["${X}"] } }],
    ["a limit", { runtime_config: { memory_limit: "${X}" } }],
    ["the name of a member", { "x_${X}": 1 }],
  ])("are refused in %s", (_, plugin) => {
    const text = json(plugin).replaceAll("${X", `\${${SECRET}`);
    for (const file of ["config.json", "config.yaml"]) {
      expect(() => read(text, SET, file)).toThrow(/in env_vars only/);
      expect(() => read(text, SET, file)).not.toThrow(/hush/);
    }
  });

  test.each([
    ["a plugin's name", '{"plugins": {"${X}": {"url": "file:///a"}}}'],
    ["an identity", '{"oci": {"cert_email": "${X}"}, "plugins": {}}'],
    [
      "a registry's name",
      '{"auths": {"https://${X}": {"type": "token", "token": "t"}}, "plugins": {}}',
    ],
    ["a whole block", '{"plugins": ${X}}'],
    ["a member", '{"plugins": {"a": {"url": "file:///a", ${X}}}}'],
    ["the value of an unknown member", '{"other": ["${X}"], "plugins": {}}'],
  ])("are refused in %s", (_, text) => {
    for (const value of ["hush", '{"hush": {"url": "file:///hush"}}', '"hush": 1']) {
      const problem = () => read(text.replace("${X", `\${${SECRET}`), { [SECRET]: value });
      expect(problem).toThrow(SECRET);
      expect(problem).not.toThrow(/hush/);
    }
  });

  test("of credentials need no value, and get none", () => {
    const auths = { "https://a.example": { type: "token", token: "${X}" } };
    const config = read(json({}, { auths }), { X: "hush" });
    expect(JSON.stringify(config)).not.toContain("hush");
  });
});

describe("is refused, without any of the file's values:", () => {
  test.each([
    [
      "JSON that is cut off",
      "config.json",
      '{"auths": {"https://a": {"token": "hush"',
      /not valid JSON: correct line 1/,
    ],
    [
      "a comma too many",
      "config.json",
      '{"plugins": {},\n"hush": "hush",}',
      /not valid JSON: remove comments, and commas before } or ]/,
    ],
    [
      "a plugin that is there twice",
      "config.json",
      '{"plugins": {"a": {"url": "hush"},\n"a": {"url": "hush"}}}',
      /the same key occurs twice: correct line 2/,
    ],
    ["YAML", "config.yaml", 'plugins:\n  "hush', /not valid YAML: correct line/],
    ["aliases that grow", "config.yaml", bomb, TOO_COMPLEX],
    [
      "a few aliases of a long text",
      "config.yaml",
      `a: &a ${"hush".repeat(30_000)}\nb: [*a, *a, *a]`,
      TOO_COMPLEX,
    ],
    [
      "a few aliases of a long name",
      "config.yaml",
      `a: &a {${"hush".repeat(200)}: [${"0, ".repeat(1000)}]}\nb: &b [${"*a, ".repeat(90)}]\nc: [*b, *b, *b, *b]`,
      TOO_COMPLEX,
    ],
    [
      "aliases of many numbers",
      "config.yaml",
      `a: &a [${"1, ".repeat(20_000)}]\nb: [${"*a, ".repeat(20)}]`,
      TOO_COMPLEX,
    ],
    [
      "a long text",
      "config.json",
      JSON.stringify("hush".repeat(300_000)),
      /it is too long \(limit/,
    ],
    ["a long comment", "config.yaml", `#${" hush".repeat(300_000)}`, /it is too long \(limit/],
    ["a long TOML", "config.toml", `a = "${"hush".repeat(300_000)}"`, /it is too long \(limit/],
    [
      "many keys in a map",
      "config.yaml",
      Array.from({ length: 2500 }, (_, at) => `hush${at}: 1`).join("\n"),
      TOO_COMPLEX,
    ],
    [
      "many keys in JSON",
      "config.json",
      `{${Array.from({ length: 2500 }, (_, at) => `"hush${at}":1`).join()}}`,
      TOO_COMPLEX,
    ],
    ["an alias to itself", "config.yaml", "plugins: &hush {a: *hush}", TOO_COMPLEX],
    ["an alias to nothing", "config.yaml", "plugins: *hush", TOO_COMPLEX],
    ["an alias to itself in JSON", "config.json", '{"plugins": &hush [*hush]}', /not valid JSON/],
    ["names that nest", "config.toml", `hush${".a".repeat(50_000)} = 1`, TOO_COMPLEX],
    ["lists that nest", "config.toml", `hush = ${"[".repeat(50_000)}`, /not valid TOML/],
    ["lists that nest in YAML", "config.yaml", "[".repeat(50_000), /not valid YAML/],
    ["TOML", "config.toml", 'key = "hush"\nkey = hush', /not valid TOML: correct line 2/],
    ["another format", "config.txt", "hush", /a \.json, \.yaml, \.yml or \.toml file/],
    [
      "a config without plugins",
      "config.json",
      '{"servers": {"a": "hush"}}',
      /plugins: Invalid input/,
    ],
    [
      "a variable without a value",
      "config.yaml",
      "plugins: {a: {url: hush, runtime_config: {env_vars: {K: }}}}",
      /plugins\.a\.runtime_config\.env_vars\.K: has no value: write "" for an empty text, or remove/,
    ],
    [
      "a list in env_vars",
      "config.yaml",
      "plugins: {a: {url: hush, runtime_config: {env_vars: {K: [hush]}}}}",
      /plugins\.a\.runtime_config\.env_vars\.K: must be a text: put it in quotes/,
    ],
    [
      "a list instead of variables",
      "config.yaml",
      "plugins: {a: {url: hush, runtime_config: {env_vars: [hush]}}}",
      /env_vars: must be names with texts, such as \{"A": "b"\}/,
    ],
    [
      "one secret instead of a list",
      "config.yaml",
      "plugins: {a: {url: hush, runtime_config: {allowed_secrets: {service: hush}}}}",
      /allowed_secrets: must be a list, such as \[\{ "service": "s", "user": "u" \}\]/,
    ],
    [
      "a fraction in TOML, of which it is not known how it was written",
      "config.toml",
      '[plugins.a]\nurl = "hush"\n[plugins.a.runtime_config.env_vars]\nVERSION = 1.10',
      /env_vars\.VERSION: must be a text: put it in quotes/,
    ],
    [
      "several hosts in one text",
      "config.yaml",
      'plugins: {a: {url: hush, runtime_config: {allowed_hosts: "a.example, b.example"}}}',
      /allowed_hosts: must be a list of texts, such as \["a", "b"\]/,
    ],
    [
      "hosts that are no text",
      "config.json",
      '{"plugins": {"a": {"url": "hush", "runtime_config": {"allowed_hosts": true}}}}',
      /allowed_hosts: must be a list of texts/,
    ],
    [
      "an unknown kind of auth",
      "config.json",
      '{"auths": {"https://a": {"type": "hush", "token": "hush"}}, "plugins": {}}',
      /auths\.https:\/\/a\.type: Invalid/,
    ],
    [
      "url and path at once",
      "config.json",
      '{"plugins": {"a": {"url": "hush", "path": "hush"}}}',
      /must have one of "url" and "path"/,
    ],
    [
      "a password in a source",
      "config.json",
      '{"plugins": {"a": {"url": "https://ada:hush@example.com/a"}}}',
      /may hold a secret/,
    ],
    [
      "a variable in a source's query",
      "config.json",
      '{"plugins": {"a": {"url": "https://example.com/a?key=${KEY}"}}}',
      /may hold a secret/,
    ],
  ])("%s", (_, file, text, message) => {
    const problem = () => read(text, { KEY: "hush" }, file);
    expect(problem).toThrow(message);
    expect(problem).not.toThrow(/hush/);
  });
});
