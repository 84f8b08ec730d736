/**
 * Images of servlets whose modules read values of the manifest: the values are the same for all calls of an isolate, so the
 * modules run once for them, before the first call, and not in each.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { Guest, type Setup } from "./guest.ts";
import { memoryOf } from "./image.ts";
import { Journal } from "./journal.ts";
import { limits } from "./limits.ts";
import { runExport } from "./link.ts";
import { encodePatch } from "./patch.ts";
import { borrow, drop, newInstanceOf, nobody, type Program } from "./pool.ts";
import { startWorld } from "./world.ts";

/** The export that runs the modules, and does nothing else. */
const ENVIRONMENT = "edge_environment";

type Values = Pick<Setup, "config" | "secret">;

/** A program whose modules have run for these values. */
interface Known {
  config: Values["config"];
  /** The config as text, and the secrets that the modules have read. */
  text: string;
  secrets: Map<string, Secret>;
  program: Program;
}

interface Secret {
  service: string;
  user: string;
  value: string | undefined;
}

/** By the patch of the program whose modules have not run. */
const known = new WeakMap<ArrayBuffer, Known>();

/**
 * The program with its modules run for the values of this call; the same program if it has no such modules, if it keeps state,
 * which belongs to the build's own image, if the caller brings values of their own, or if the modules fail: they run in the call
 * then, and say there what is wrong.
 */
export function inEnvironment(program: Program, setup: Setup): Program | Promise<Program> {
  const { patch, exports } = program;
  if (exports?.includes(ENVIRONMENT) !== true || patch === undefined) return program;
  if (setup.keepsState === true || setup.credentials !== undefined) return program;
  const { config } = setup;
  const found = known.get(patch);
  if (found?.config === config) return found.program;
  const text = JSON.stringify(config);
  if (found?.text === text && hasSecrets(found, setup)) {
    found.config = config;
    return found.program;
  }
  return madeFor(program, patch, setup);
}

/** Makes the image, which other calls get when it is there: they do not wait for a call that may be cancelled. */
async function madeFor(program: Program, patch: ArrayBuffer, setup: Setup): Promise<Program> {
  const { config } = setup;
  const secrets = new Map<string, Secret>();
  const image = await imageOf(program, setup, secrets);
  const made = image ?? program;
  known.set(patch, { config, text: JSON.stringify(config), secrets, program: made });
  return made;
}

const hasSecrets = ({ secrets }: Known, { secret }: Values): boolean =>
  secrets.values().every(({ service, user, value }) => secret(service, user) === value);

/** The program with its image; undefined if its modules fail. */
async function imageOf(
  program: Program,
  { config, fuel, ...setup }: Setup,
  secrets: Map<string, Secret>,
): Promise<Program | undefined> {
  const secret = (service: string, user: string): string | undefined => {
    const value = setup.secret(service, user);
    secrets.set(JSON.stringify([service, user]), { service, user, value });
    return value;
  };
  const guest = new Guest(
    { ...nobody, config, secret },
    new Journal({ hash: "", input: "" }, startWorld, undefined),
  );
  // A new one: a used instance would have the globals of another servlet.
  const base = await newInstanceOf({ ...program, patch: undefined, restorable: false });
  const before = memoryOf(base.exports).slice();
  drop(base);
  let instance = await borrow(program, guest);
  while (instance === undefined) instance = await borrow(program, guest);
  // The image is for all calls: the small share of a nested one must not decide whether there is one.
  guest.attach(instance.exports, { fuel: Math.max(fuel ?? 0, limits.guestFuel) });
  try {
    const code = await Promise.try(runExport, instance, ENVIRONMENT).catch(() => undefined);
    if (code !== 0) return undefined;
    await runExport(instance, "edge_collect");
    const patch = encodePatch(instance.exports, before);
    return { ...program, patch: patch.buffer, environment: bytesToHex(sha256(patch)) };
  } finally {
    drop(instance);
    guest.end();
  }
}
