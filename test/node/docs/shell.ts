/** Runs the shell lines of a page in a copy of the project, where what leaves the machine is only recognised. */
import { spawn } from "node:child_process";
import { cp, mkdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import type { Block } from "./pages.ts";

const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as {
  scripts: Record<string, string>;
};

/**
 * Scripts of the project that are one command of Node, as they are in its package.json: npm itself takes longer than most
 * of them.
 */
const RUN = Object.entries(scripts)
  .filter(([, command]) => /^node [\w./-]+( \w+)?$/.test(command))
  .map(
    ([name, command]) => `"run ${name}") shift 2; [ "$1" != -- ] || shift; exec ${command} "$@" ;;`,
  )
  .join("\n  ");

/** `npm` and `npx`, but for what takes long, opens a port or changes something outside. */
const STUBS: Record<string, string> = {
  npm: `case "$*" in
  "run servlets -- doctor "* | "run servlets -- add "* | "run servlets -- update"* | "run servlets -- remove "* | "run keys -- push") exit ;;
  "run servlets -- install"* | "run servlets -- versions "* | "run servlets -- rollback "* | \\
  "run servlets -- uninstall "* | "run servlets -- publish "* | "run servlets -- unpublish "* | "run servlets -- replay "*) exit ;;
esac
case "$1 $2" in
  "create edge-servlets" | "create cloudflare@latest") [ -n "$3" ] ;;
  "install "* | "test "* | "run dev" | "run deploy" | "run verify" | "run size" | "run bundle" | "run package" | "run bench" | "run fuzz" | \\
  "run conformance" | "run dev:conformance" | "run clients" | "run simulate" | "run soak" | \\
  "start "* | "run backup" | "run restore" | "run standalone") [ "$2" != standalone ] || echo "server has the server" ;;
  "run passphrase") echo | ${scripts["passphrase"]} ;;
  ${RUN}
  *) echo "docs: unknown: npm $*" >&2; exit 1 ;;
esac`,
  npx: `case "$*" in
  "edge-servlets add "*) ;;
  "wrangler secret put "* | "wrangler kv namespace create "* | "wrangler r2 bucket create "* | "wrangler tail") cat > /dev/null ;;
  *) echo "docs: unknown: npx $*" >&2; exit 1 ;;
esac`,
  git: `[ "$1" = clone ] && [[ "$2" == https://* ]]`,
  claude: `[ "$1 $2 $3 $4" = "mcp add --transport http" ] && [[ "$6" == http*/mcp ]]`,
  caddy: `[ "$1" = "reverse-proxy" ]`,
  docker: `[ "$1 $2" = "build -t" ] || [ "$1 $2" = "run -d" ]`,
  rustup: `[ "$1 $2" = "target add" ]`,
  // The server of the test is configured with this secret.
  openssl: `[ "$*" = "rand -hex 32" ] && echo "$OTC_SECRET"`,
};

/** Linked into the copy of the project, with the bundle's cache: that goes by content. */
const LINKED = [
  "src",
  "templates",
  "test",
  "node_modules",
  "package.json",
  "tsconfig.json",
  "tsconfig.base.json",
  ".bundle",
];

/** A copy of the project with servlets of its own, as far as documents use it. */
export async function copyOfProject(folder: string): Promise<string> {
  const copy = resolve(folder);
  await rm(copy, { recursive: true, force: true });
  await mkdir(join(copy, "bin"), { recursive: true });
  for (const name of LINKED) {
    await symlink(resolve(name), join(copy, name));
  }
  await cp("wrangler.toml", join(copy, "wrangler.toml"));
  await cp("plugins", join(copy, "plugins"), { recursive: true });
  for (const [name, text] of Object.entries(STUBS)) {
    await writeFile(join(copy, "bin", name), `#!/usr/bin/env bash\n${text}\n`, { mode: 0o755 });
  }
  return copy;
}

/** Writes a block into its file. Throws for a file in a linked folder, which is the project's own. */
export async function place(copy: string, { file, text }: Block): Promise<void> {
  const folder = dirname(join(copy, file));
  await mkdir(folder, { recursive: true });
  if (relative(await realpath(copy), await realpath(folder)).startsWith(".."))
    throw new Error(`${file} would overwrite a file of the project`);
  await writeFile(join(copy, file), text);
}

/** Expected output of a block of shell lines: the text behind each `# →`, in which `…` stands for anything. */
export const expectedOf = (text: string): string[] =>
  [...text.matchAll(/# → (.*)$/gm)].map(([, expected]) => expected!);

/** Runs a script; gives what it printed. Rejects with that where a command of it fails, curl's time limit aside. */
export function runShell(
  copy: string,
  script: string,
  variables: Record<string, string>,
): Promise<string> {
  const guarded = `set -E; trap 'code=$?; [ $code = 28 ] || exit $code' ERR\n${script}`;
  const shell = spawn("bash", ["-c", guarded], {
    cwd: copy,
    env: {
      ...process.env,
      ...variables,
      PATH: `${join(copy, "bin")}:${resolve("node_modules/.bin")}:${process.env["PATH"]}`,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  }
  return new Promise((done, fail) => {
    shell.on("error", fail);
    shell.on("close", (code) => {
      if (code === 0) done(printed);
      else fail(new Error(`The shell ended with ${code}. It printed:\n${printed}`));
    });
  });
}
