/** The commands `npm run servlets -- add`, `update` and `remove`. */
import { existsSync } from "node:fs";
import { nearest } from "../../server/kernel/core/nearest.ts";
import { printable } from "../../server/kernel/core/text.ts";
import { argumentsIn } from "../bundle/arguments.ts";
import { DOCS } from "../bundle/own.ts";
import { Refusal, Refusals } from "../bundle/refusal.ts";
import { scan } from "../bundle/scan.ts";
import { readPolicy } from "../bundle/component/policy.ts";
import {
  addSource,
  removeSource,
  type AddOptions,
  TRUST_OPTIONS,
  trustIn,
  type Trust,
} from "../bundle/sources/add.ts";
import { readPin } from "../bundle/sources/lock.ts";
import { signerOf, updateOf } from "../bundle/sources/update.ts";
import { examine, locate, type Examined } from "./examine.ts";
import type { Workspace } from "./folders.ts";
import { copyServlet, galleryNames, isInGallery } from "./new.ts";
import { servletReport } from "./report.ts";
import { asked } from "./terminal.ts";

export const SOURCES_USAGE = `npm run servlets -- add NAME          copies a servlet of the gallery: ${DOCS}/gallery.md
npm run servlets -- add SOURCE        adds a servlet from oci://, https://, s3://, file:// or a path,
                                      pinned in servlets.lock.json
    --name NAME                       its name, by default from the source
    --policy FILE                     the policy.yaml of a component: its hosts, folders and variables
    --key FILE                        the public key that must have signed an image
    --identity WHO --issuer URL       who must have signed it keyless, with * for any characters
    --trusted-root FILE               the root of another Sigstore
    --allow-unsigned                  takes an image that nobody has signed
npm run servlets -- update [NAME]     shows what has changed at the sources, and asks; --yes accepts
npm run servlets -- remove NAME       removes a servlet that was added`;

const OPTIONS = {
  name: { type: "string" },
  policy: { type: "string" },
  yes: { type: "boolean" },
  ...TRUST_OPTIONS,
} as const;

/** Runs one of the commands. Throws a `Refusal`. */
export async function sources(command: string, args: string[], options: Workspace): Promise<void> {
  const { values, positionals } = argumentsIn(
    { args, allowPositionals: true, options: OPTIONS },
    SOURCES_USAGE,
  );
  const { name, policy, yes } = values;
  const trust = trustIn(values);
  const [first, ...others] = positionals;
  if (others.length > 0 || (first === undefined && command !== "update")) {
    throw new Refusal(`Give ${command === "add" ? "one source" : "one name"}.\n\n${SOURCES_USAGE}`);
  }
  if (command === "add" && isInGallery(first!)) {
    const unused = Object.keys(OPTIONS).filter(
      (key) => key !== "name" && values[key as keyof typeof OPTIONS] !== undefined,
    );
    if (unused.length > 0) {
      throw new Refusal(
        `${first} is a servlet of the gallery, whose sources are copied: leave out --${unused.join(", --")}. For a file of this name, write ./${first}`,
      );
    }
    console.log(await copyServlet(first!, name ?? first!, options.folders));
  } else if (command === "add") {
    refuseMisspelt(first!);
    const given = policy === undefined ? undefined : await readPolicy(policy);
    const manifest = given?.manifest ?? {};
    console.log(
      await add(first!, { ...trust, ...options, manifest, name: name ?? nameFrom(first!) }),
    );
    for (const line of given?.unmapped ?? []) console.log(`  ${printable(line)}`);
  } else if (command === "remove") {
    console.log(`${await removeSource(first!, options.folders)} is removed`);
  } else await update(first, { trust, yes: yes ?? false }, options);
}

/** Throws a `Refusal` for a plain name, neither a path nor a URL, that no file has. */
function refuseMisspelt(source: string): void {
  if (/[/\\.:]/.test(source) || existsSync(source)) return;
  const meant = nearest(source, galleryNames());
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw new Refusal(
    `There is no servlet "${printable(source)}" in the gallery, and no such file${hint}. For the servlets of the gallery, see ${DOCS}/gallery.md`,
  );
}

/** The last part of a source's path, without tag, digest and file extension. */
function nameFrom(source: string): string {
  const path = source.replace(/[?#].*$/, "").replace(/\/+$/, "");
  const [last = ""] = path.split(/[/\\]/).slice(-1);
  return last.replace(/[@:].*$/, "").replace(/\.wasm$/, "");
}

async function add(source: string, options: Workspace & Omit<AddOptions, keyof Workspace>) {
  const { folders, name } = options;
  const { folder } = await addSource(source, options);
  let examined: Examined;
  try {
    examined = await examine(await locate(name, options), options);
    if (examined.refusal !== undefined) throw new Refusal(`${examined.refusal}\nIt was not added.`);
  } catch (error) {
    await removeSource(name, folders);
    throw error;
  }
  const { digest, size, signed } = readPin(folders[0], name)!;
  return `${servletReport(examined)}\n\n${folder} is added: ${digest}, ${size} bytes, ${printable(signerOf(signed))}`;
}

async function update(
  name: string | undefined,
  { trust, yes }: { trust: Trust; yes: boolean },
  options: Workspace,
): Promise<void> {
  const refusals = new Refusals();
  const all = (await scan(options, refusals)).filter(({ source }) => source.kind === "pinned");
  const chosen = all.filter((one) => name === undefined || one.name === name);
  if (chosen.length === 0) {
    refusals.throwAll();
    throw new Refusal(
      name === undefined
        ? "No servlet was added from a source"
        : `There is no servlet ${name} that was added from a source`,
    );
  }
  const failed = new Refusals();
  for (const found of chosen) {
    const one = await failed.collect(() => updateOf(found, trust, options));
    if (one === undefined) continue;
    const { changes, accept } = one;
    if (changes.length === 0) {
      // The wasm has not changed, but the manifest or signer may have.
      accept();
      console.log(`${found.name} has not changed`);
      continue;
    }
    console.log(changes.join("\n"));
    const isAccepted = yes || (await asked(`Take ${found.name}? [y/N] `));
    if (isAccepted) accept();
    console.log(`${found.name} ${isAccepted ? "is updated" : "stays as it is; --yes takes it"}`);
  }
  failed.throwAll();
}
