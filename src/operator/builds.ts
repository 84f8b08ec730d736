/** What operators do with builds: send their parts, publish, install and roll back. */
import { readJson, jsonHeaders } from "../body.ts";
import { digestsOf, readBuild, type Build } from "../builds/build.ts";
import type { BuildBucket } from "../builds/bucket.ts";
import { bucketOf, installsOf } from "../builds/bindings.ts";
import type { InstallsObject } from "../builds/installs-object.ts";
import type { Serving } from "../builds/serving.ts";
import { unsettled } from "../durable/remote-hooks.ts";
import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import { isObject, type Lists, type Principal } from "../model.ts";
import { merge } from "../servlets/catalog.ts";
import { keepsState } from "../servlets/manifest.ts";

/** Where builds go. */
export interface Builds {
  bucket: BuildBucket;
  installs: () => DurableObjectStub<InstallsObject>;
  serving: Serving;
}

/** The parts that installing needs. Throws `unavailable` that names what is not bound. */
export function buildsOf(env: object, serving: Serving): Builds {
  const bucket = bucketOf(env);
  const installs = installsOf(env);
  if (bucket !== undefined && installs !== undefined && serving.loader !== undefined) {
    return { bucket, installs, serving };
  }
  throw new Fault(
    "unavailable",
    "This server cannot keep builds: bind the R2 bucket BUILDS, the Worker Loader LOADER and the Durable Object INSTALLS in wrangler.toml, and deploy again. See docs/installing.md.",
  );
}

/** `PUT part/SHA256` with its bytes. */
export async function putPart(request: Request, digest: string, { bucket }: Builds) {
  if (request.body === null) throw new Fault("invalid_request", "The body is empty: send a part.");
  await bucket.putPart(digest, request.body, Number(request.headers.get("content-length")));
  return new Response(null, { status: 204 });
}

/** `PUT build/NAME` with a build: keeps it, for calls that wait and for those who may install it. */
export async function publish(request: Request, name: string, builds: Builds) {
  const { build, missing } = await given(request, name, builds);
  if (missing.length === 0) await keep(build, builds);
  return json({ hash: build.hash, missing });
}

/** `PUT servlet/NAME` with a build: serves it. */
export async function install(request: Request, name: string, builds: Builds, by: Principal) {
  const { build, missing } = await given(request, name, builds);
  if (missing.length > 0) return json({ missing });
  if (keepsState(build.manifest)) {
    throw new Fault(
      "conflict",
      `The servlet ${name} keeps state, which only servlets of the bundle can: put it into plugins/ and deploy.`,
    );
  }
  await refuseClashes(build, builds);
  await keep(build, builds);
  const { version, isNew } = unsettled(await builds.installs().install(build, by.name));
  return json({ name, version, hash: build.hash, isNew });
}

/** `GET servlet/` and `GET servlet/NAME`. */
export async function showInstalled(_request: Request, name: string, { installs }: Builds) {
  if (name === "") return json({ servlets: await installs().list() });
  const { current, versions } = await installs().versions(name);
  const read = versions.map((one) => ({ ...one, build: JSON.parse(one.build) as Build }));
  return json({ name, current, versions: read });
}

/** `POST servlet/NAME` with `{"rollback": VERSION}`, or null for the one before. */
export async function rollBack(request: Request, name: string, { installs }: Builds) {
  const body = await readJson(request);
  const to = isObject(body) ? body["rollback"] : undefined;
  if (to !== null && typeof to !== "number") {
    throw new Fault("invalid_request", 'Send {"rollback": 2}, or null for the version before.');
  }
  return json({ name, ...unsettled(await installs().rollBack(name, to)) });
}

/** `DELETE servlet/NAME`. */
export async function uninstall(_request: Request, name: string, { installs }: Builds) {
  unsettled(await installs().uninstall(name));
  return json({ name });
}

/** The build in the body, and the digests of its parts that are still to be sent. */
async function given(request: Request, name: string, { bucket }: Builds) {
  const build = await readBuild(await readJson(request));
  if (build.name !== name) {
    throw new Fault(
      "invalid_request",
      `The build is of ${build.name}, and the path names ${name}.`,
    );
  }
  if (JSON.stringify(build).length > limits.buildBytes) {
    throw new Fault(
      "too_large",
      `The manifest and lists of ${name} are too large (limit ${limits.buildBytes} characters).`,
    );
  }
  return { build, missing: await bucket.missing(digestsOf(build)) };
}

/** Keeps a build if its code can be loaded. */
async function keep(build: Build, { bucket, serving }: Builds): Promise<void> {
  const exports = new Set(await serving.loader!.check(build));
  const lacking = build.exports.find((name) => !exports.has(name));
  if (lacking !== undefined) {
    throw new Fault("invalid_params", `The build is not valid: its module exports no ${lacking}.`);
  }
  await bucket.putBuild(build);
}

/** Throws `conflict` for a build that lists what another servlet lists. */
async function refuseClashes(build: Build, { serving }: Builds): Promise<void> {
  const { servlets } = (await serving.registry()).whole;
  const others = servlets.filter(({ name }) => name !== build.name);
  const all = [...others, build].map((servlet) => ({ servlet, lists: servlet.lists ?? NONE }));
  try {
    merge(all, ({ kind, name, servlets: [first, second] }) => {
      if (second !== build.name) return;
      throw new Fault(
        "conflict",
        `The servlet ${first} also has ${name} (${kind}): give ${second} a "prefix" in servlet.json, or skip it there.`,
      );
    });
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("invalid_params", "The build is not valid: its lists cannot be read.", {
      cause: error,
    });
  }
}

const NONE: Lists = { tools: [], resources: [], resourceTemplates: [], prompts: [] };

const json = (value: object): Response =>
  new Response(JSON.stringify(value), { headers: jsonHeaders });
