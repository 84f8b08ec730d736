/** The operations on builds: send parts, publish, install, roll back, replay. */
import { unsettled } from "../../kernel/core/settled.ts";
import { lengthOf, readJson } from "../../kernel/http/body.ts";
import { readBuild, type Build } from "./build.ts";
import { demandServable } from "./servable.ts";
import type { Installer } from "./installer.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { isObject } from "../../kernel/core/model.ts";
import {
  jsonAnswer,
  operationWith,
  type Operating,
  type Operations,
} from "../../kernel/http/operations.ts";

/**
 * The operations `part`, `build`, `replay` and `servlet`. `installer` throws `unavailable` if nothing can be installed.
 */
export function buildOperations(installer: () => Installer): Operations {
  const withInstaller = operationWith(() => ({ installer: installer() }));
  return {
    part: { PUT: withInstaller(putPart) },
    build: { PUT: withInstaller(publishBuild), DELETE: withInstaller(unpublishBuild) },
    replay: { POST: withInstaller(replayBuild) },
    servlet: {
      GET: withInstaller(showInstalled),
      PUT: withInstaller(installBuild),
      POST: withInstaller(rollBack),
      DELETE: withInstaller(removeServlet),
    },
  };
}

type By = Operating & { installer: Installer };

/** `PUT part/SHA256` with its bytes. */
async function putPart(request: Request, digest: string, { installer }: By) {
  if (request.body === null)
    throw new Fault("invalid_request", "The body is empty. Send the bytes of the part.");
  await installer.bucket.putPart(digest, request.body, lengthOf(request) ?? 0);
  return new Response(null, { status: 204 });
}

/** `PUT build/NAME` with a build: stores it for waiting calls and for agents that may install it. */
async function publishBuild(
  request: Request,
  name: string,
  { installer, principal, recordAct }: By,
) {
  const build = await buildIn(request, name);
  const missing = await installer.missing(build);
  if (missing.length === 0) {
    await installer.publish(build, principal.name);
    await recordAct(`Published ${name} (${build.hash.slice(0, 12)}).`);
  }
  return jsonAnswer({ hash: build.hash, missing });
}

/** `DELETE build/NAME`: agents can no longer install it. */
async function unpublishBuild(_request: Request, name: string, { installer, recordAct }: By) {
  unsettled(await installer.installs().unpublish(name));
  await recordAct(`Unpublished ${name}.`);
  return jsonAnswer({ name });
}

/** `PUT servlet/NAME` with a build: serves it, or answers `{missing}` with the parts to send. Refuses clashes first. */
async function installBuild(
  request: Request,
  name: string,
  { installer, principal, recordAct }: By,
) {
  const build = await buildIn(request, name);
  const missing = await installer.missing(build);
  if (missing.length > 0) {
    await installer.demandInstallable(build);
    return jsonAnswer({ missing });
  }
  const installed = await installer.install(build, principal.name, seenIn(request));
  if (installed.isNew) await recordAct(`Installed ${name}, version ${installed.version}.`);
  return jsonAnswer(installed);
}

/** `POST replay/NAME` with a build: replays waiting calls without effects. Answers a `ReplayReport` or `{missing}`. */
async function replayBuild(request: Request, name: string, { installer }: By) {
  const build = await buildIn(request, name);
  const missing = await installer.missing(build);
  return jsonAnswer(missing.length > 0 ? { missing } : await installer.replay(build));
}

/** `GET servlet/`: the served versions. `GET servlet/NAME`: all stored versions of one servlet, with their builds. */
async function showInstalled(_request: Request, name: string, { installer }: By) {
  const installs = installer.installs();
  if (name === "") return jsonAnswer({ servlets: await installs.list() });
  const { current, versions } = await installs.versions(name);
  const read = versions.map((one) => ({ ...one, build: JSON.parse(one.build) as Build }));
  return jsonAnswer({ name, current, versions: read });
}

/** `POST servlet/NAME` with `{"rollback": VERSION}`. */
async function rollBack(request: Request, name: string, { installer, recordAct }: By) {
  const body = await readJson(request);
  const to = isObject(body) ? body["rollback"] : undefined;
  if (typeof to !== "number") {
    throw new Fault(
      "invalid_request",
      'The body does not name a version. Expected {"rollback": VERSION} with its number, such as {"rollback": 2}.',
    );
  }
  const served = unsettled(await installer.installs().rollBack(name, to, seenIn(request)));
  await recordAct(`Rolled ${name} back to version ${to}.`);
  return jsonAnswer({ name, ...served });
}

/** `DELETE servlet/NAME`. */
async function removeServlet(request: Request, name: string, { installer, recordAct }: By) {
  unsettled(await installer.installs().uninstall(name, seenIn(request)));
  await recordAct(`Uninstalled ${name}.`);
  return jsonAnswer({ name });
}

/** The served version that the operator has seen, from `?seen=`: 0 for none, undefined to skip the check. */
function seenIn({ url }: Request): number | undefined {
  const seen = new URL(url).searchParams.get("seen");
  return seen === null ? undefined : Number(seen);
}

/** The build in the body. Throws `invalid_params`, `invalid_request` or `too_large` if `name` cannot serve it. */
async function buildIn(request: Request, name: string): Promise<Build> {
  const build = await readBuild(await readJson(request));
  if (build.name !== name) {
    throw new Fault(
      "invalid_request",
      `The build is of the servlet ${build.name}, but the path names ${name}. Send it to the path of ${build.name}.`,
    );
  }
  if (JSON.stringify(build).length > limits.buildBytes) {
    throw new Fault(
      "too_large",
      `The manifest and lists of ${name} are too large (limit ${limits.buildBytes} characters).`,
    );
  }
  demandServable(build);
  return build;
}
