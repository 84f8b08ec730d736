import { callerKey } from "../core/callers.ts";
import { Fault } from "../core/errors.ts";
import type { Principal } from "../core/model.ts";
import { jsonHeaders, textResponse } from "./body.ts";

/** Who performs an operation, and how it is recorded. */
export interface Operating {
  /** The operator. */
  principal: Principal;
  /** Records the operator's act, as a sentence. */
  recordAct(what: string): Promise<void>;
}

/** Handles one kind of request below `/operator/`; `name` is the last part of its path, a servlet or a digest. */
type Operation = (request: Request, name: string, operating: Operating) => Promise<Response>;

/** Makes an operation from a function that also takes these parts of the server. A fault of `parts` is the response. */
export const operationWith =
  <Parts>(parts: () => Parts) =>
  (work: (request: Request, name: string, by: Operating & Parts) => Promise<Response>): Operation =>
  (request, name, operating) =>
    work(request, name, { ...parts(), ...operating });

/** Operations by the first part of the path below `/operator/`, and the method. */
export type Operations = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** The response of an operation. */
export const jsonAnswer = (value: object): Response =>
  textResponse(JSON.stringify(value), { headers: jsonHeaders });

/** The key of a caller, by its name in the log. */
export const callerKeyOf = (caller: string): string =>
  caller.startsWith("address ") ? caller : (callerKey({ name: caller }) ?? "");

/** The installer. Throws an `unavailable` that names the missing bindings. */
export function installerOf<Installer>({
  installer,
}: {
  readonly installer?: Installer;
}): Installer {
  if (installer !== undefined) return installer;
  throw new Fault(
    "unavailable",
    "This server cannot keep builds: bind the R2 bucket BUILDS, the Worker Loader LOADER and the Durable Object INSTALLS in wrangler.toml, then deploy, or start npm run dev, again. See docs/installing.md.",
  );
}
