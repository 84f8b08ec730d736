/**
 * Installs each client's package, in its exact version, into a folder that git does not see, and says how its
 * program is run. What is installed once is used again.
 */
import { spawnSync } from "node:child_process";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { startChromium } from "../node/http/chromium.ts";
import type { Client, Toolchain } from "./table.ts";

/** The command that runs a client's program. */
type Command = readonly string[];

const CACHE = resolve(".clients");

/** Programs that each toolchain needs on the PATH. */
const NEEDS: Record<Toolchain, string[]> = {
  python: ["python3"],
  go: ["go"],
  rust: ["cargo"],
  java: ["java", "javac", "mvn"],
  kotlin: ["java", "javac", "mvn"],
  typescript: [],
  npm: ["npm"],
  browser: ["npm"],
};

/** The tool that is not there, or undefined where all are. */
export function missingTool({ toolchain }: Client): string | undefined {
  return NEEDS[toolchain].find((tool) => spawnSync("which", [tool]).status !== 0);
}

export async function install(client: Client): Promise<Command> {
  const folder = join(CACHE, `${client.name}-${client.version}`);
  await mkdir(folder, { recursive: true });
  switch (client.toolchain) {
    case "python":
      return python(client, folder);
    case "go":
      return go(client, folder);
    case "rust":
      return rust(client, folder);
    case "java":
      return java(client, folder);
    case "kotlin":
      return kotlin(client, folder);
    case "typescript":
      return typescript(client);
    case "npm":
      return npm(client, folder);
    case "browser":
      return browser(client, folder);
  }
}

const programOf = ({ program }: Client): string => join(import.meta.dirname, program);

async function python(client: Client, folder: string): Promise<Command> {
  const interpreter = join(folder, "bin/python");
  await once(folder, `${client.package}==${client.version}`, () => {
    run("python3", ["-m", "venv", folder]);
    run(interpreter, ["-m", "pip", "install", "-q", `${client.package}==${client.version}`]);
  });
  return [interpreter, programOf(client)];
}

async function go(client: Client, folder: string): Promise<Command> {
  const program = programOf(client);
  for (const file of [program, join(dirname(program), "cells.go")])
    await cp(file, join(folder, basename(file)));
  const module = `module matrix\n\ngo 1.25\n\nrequire ${client.package} ${client.version}\n`;
  await once(folder, module, async () => {
    await writeFile(join(folder, "go.mod"), module);
    run("go", ["mod", "tidy"], folder);
  });
  run("go", ["build", "-o", "client"], folder);
  return [join(folder, "client")];
}

async function rust(client: Client, folder: string): Promise<Command> {
  await cp(dirname(programOf(client)), join(folder, "src"), { recursive: true });
  const manifest = `[package]
name = "client"
version = "0.0.0"
edition = "2024"

[dependencies]
${client.package} = { version = "=${client.version}", default-features = false, features = ["client", "elicitation", "auth", "transport-streamable-http-client-reqwest"] }
reqwest = { version = "0.13", default-features = false }
serde = "1"
serde_json = "1"
tokio = { version = "1", features = ["full"] }

[workspace]
`;
  await once(folder, manifest, async () => {
    await writeFile(join(folder, "Cargo.toml"), manifest);
    run("cargo", ["fetch", "--quiet"], folder);
  });
  run("cargo", ["build", "--quiet", "--offline", "-j", "1"], folder);
  return [join(folder, "target/debug/client")];
}

async function java(client: Client, folder: string): Promise<Command> {
  const jars = join(folder, "jars");
  await fetchJars(client, folder, [client, OAUTH_LIBRARY]);
  const sources = [programOf(client), ...SHARED_JAVA];
  const classes = join(folder, "classes");
  run("javac", ["-cp", join(jars, "*"), "-d", classes, ...sources]);
  return ["java", "-cp", `${join(jars, "*")}:${classes}`, "Matrix"];
}

/** Sources for the Java and the Kotlin client. Their SDKs leave the sign-in to a library. */
const SHARED_JAVA = ["Cells.java", "SignIn.java"].map((name) =>
  join(import.meta.dirname, "java", name),
);
const OAUTH_LIBRARY = { package: "com.nimbusds:oauth2-oidc-sdk", version: "11.39" };

/** The compiler comes from Maven Central, too, and the sources of `SHARED_JAVA`. */
async function kotlin(client: Client, folder: string): Promise<Command> {
  const jars = join(folder, "jars", "*");
  const classes = join(folder, "classes");
  await fetchJars(client, folder, [
    client,
    OAUTH_LIBRARY,
    { package: "io.ktor:ktor-client-cio-jvm", version: "3.5.2" },
    { package: COMPILER, version: "2.4.21" },
  ]);
  run("javac", ["-cp", jars, "-d", classes, ...SHARED_JAVA]);
  const compile = [
    "-no-stdlib",
    "-no-reflect",
    "-nowarn",
    "-cp",
    `${await listed(jars)}:${classes}`,
  ];
  const main = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler";
  run("java", ["-cp", jars, main, ...compile, "-d", classes, programOf(client)]);
  return ["java", "-cp", `${jars}:${classes}`, "MatrixKt"];
}

const COMPILER = "org.jetbrains.kotlin:kotlin-compiler-embeddable";

/** The Kotlin compiler takes no wildcards. */
async function listed(wildcard: string): Promise<string> {
  const folder = dirname(wildcard);
  return (await readdir(folder)).map((name) => join(folder, name)).join(":");
}

/** Fetches packages as Maven Central has them, and what they need, into the folder `jars`. */
async function fetchJars(
  { name }: Client,
  folder: string,
  packages: readonly Pick<Client, "package" | "version">[],
): Promise<void> {
  const dependencies = packages.map(({ package: full, version }) => {
    const [group, artifact] = full.split(":");
    return `    <dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>matrix</groupId><artifactId>${name}</artifactId><version>0</version>
  <dependencies>
${dependencies.join("\n")}
  </dependencies>
</project>
`;
  await once(folder, pom, async () => {
    await writeFile(join(folder, "pom.xml"), pom);
    run("mvn", ["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"], folder);
  });
}

/** It is there already: the project's own tests use it. */
async function typescript(client: Client): Promise<Command> {
  const file = join("node_modules", client.package, "package.json");
  const { version } = JSON.parse(await readFile(file, "utf8")) as { version: string };
  if (version !== client.version) {
    const there = `${client.package} ${version} is installed, and the table says ${client.version}`;
    throw new Error(`${there}. Change package.json or test/clients/table.ts.`);
  }
  return [process.execPath, programOf(client)];
}

async function npm(client: Client, folder: string): Promise<Command> {
  const program = programOf(client);
  const copy = join(folder, basename(program));
  await cp(program, copy);
  await cp("test/node/http/oauth-client.ts", join(folder, "oauth-client.ts"));
  await fetchPackage(client, folder);
  return [process.execPath, copy, client.package];
}

/** A web interface, which its program uses in a browser. */
async function browser(client: Client, folder: string): Promise<Command> {
  await fetchPackage(client, folder);
  try {
    await (await startChromium()).close();
  } catch (error) {
    throw new Unavailable(`Chromium does not start: ${String(error).split("\n")[0]!}`);
  }
  return [process.execPath, programOf(client), join(folder, "node_modules", client.package)];
}

/** A package with what it needs, in a folder of its own: its scripts are not run. */
async function fetchPackage(client: Client, folder: string): Promise<void> {
  const wanted = `${client.package}@${client.version}`;
  await once(folder, wanted, async () => {
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", wanted], folder);
  });
}

/** A package that its registry does not give: there is no network, or no such version any more. */
export class Unavailable extends Error {}

/** Fetches packages unless it is done for these words already. Throws `Unavailable`. */
async function once(folder: string, words: string, work: () => unknown): Promise<void> {
  const stamp = join(folder, "installed");
  if ((await readFile(stamp, "utf8").catch(() => "")) === words) return;
  try {
    await work();
  } catch (error) {
    throw new Unavailable(error instanceof Error ? error.message : String(error));
  }
  await writeFile(stamp, words);
}

/** Heavy builds leave the machine to others. */
function run(command: string, args: string[], cwd?: string): void {
  const { status, error, stderr, stdout } = spawnSync("nice", ["-n", "10", command, ...args], {
    cwd,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (status === 0) return;
  const told = error?.message ?? `${stdout}\n${stderr}`.trim().slice(-2000);
  throw new Error(`${command} ${args[0] ?? ""} … ${args.at(-1) ?? ""} failed:\n${told}`);
}
