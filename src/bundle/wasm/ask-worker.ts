/**
 * Runs in workerd while a bundle is made: finds out how servlets start, and asks them for their lists,
 * through the code that will serve them.
 */
import { Fault } from "../../errors.ts";
import { dialects, type DialectName } from "../../servlets/dialects.ts";
import { listAll } from "../../servlets/servlet.ts";
import { callExport } from "../../wasm/call.ts";
import { Guest, GuestError } from "../../wasm/guest.ts";
import { isKernelNew } from "../../wasm/image.ts";
import { Journal } from "../../wasm/journal.ts";
import { instantiate, run, type Code } from "../../wasm/link.ts";
import { nobody } from "../../wasm/pool.ts";
import { liveWorld, startWorld } from "../../wasm/world.ts";

export interface Asked {
  module: WebAssembly.Module;
  patch?: ArrayBuffer;
  dialect: DialectName;
  exports: string[];
  idsAsGiven: boolean;
  allowedHosts: string[];
  /** Is it to be asked for its lists? */
  listed: boolean;
}

const NO_NETWORK =
  'There is no network while a bundle is made. Set "lists": "dynamic" in servlet.json, so that the lists are asked for at run time.';

export function answerer(servlets: Record<string, Asked>) {
  return {
    async fetch(request: Request): Promise<Response> {
      const { dialect, exports, idsAsGiven, allowedHosts, listed, ...code } =
        servlets[new URL(request.url).pathname.slice(1)]!;
      const { connect, userFunctions } = dialects[dialect];
      const program = { ...code, userFunctions };
      const startsOnce = program.patch === undefined && (await startsAlone(program));
      if (!listed) return Response.json({ startsOnce, calls: [], logs: [] });
      const calls = new Set<string>();
      const logs: string[] = [];
      const servlet = connect({
        exports,
        idsAsGiven,
        run: (name, input, call) =>
          callExport(program, name, input, {
            world: {
              ...liveWorld,
              fetch: () => {
                calls.add("http_request");
                return Promise.reject(new GuestError(NO_NETWORK));
              },
            },
            config: new Proxy<Record<string, string>>(
              {},
              {
                getOwnPropertyDescriptor: () => {
                  calls.add("config_get");
                  return undefined;
                },
              },
            ),
            // So that what it asks for is seen; there is nothing to reach.
            allowedHosts: ["*", ...allowedHosts],
            secret: () => {
              calls.add("get_keyring_secret");
              return undefined;
            },
            logLevel: "warn",
            signal: call.signal,
            log: (_level, text) => logs.push(text),
            notify: () => {},
            ask: (asks) => {
              for (const { method } of Object.values(asks)) calls.add(method);
              return Promise.reject(new Fault("servlet_failed", "Nobody can be asked for a list."));
            },
          }),
      });
      try {
        return Response.json({
          lists: await listAll(servlet),
          startsOnce,
          calls: [...calls],
          logs,
        });
      } catch (error) {
        const fault = Fault.from(error);
        const why = fault.code === "internal" ? String(fault.cause) : fault.message;
        return Response.json({ error: why, startsOnce, calls: [...calls], logs });
      }
    },
  };
}

/**
 * Do a servlet's start functions end without having looked at anything outside of the instance? Then
 * they leave the same in each one, and need to run only once. What WASI answers always alike does not
 * count (arguments, environment, open files); the clock, random numbers, config and whatever else a
 * call brings along do, and so does a block, a variable or an output that is left behind.
 */
async function startsAlone(code: Code): Promise<boolean> {
  let looked = false;
  const watched = <T extends object>(what: T): T =>
    new Proxy(what, {
      get(target, key) {
        looked = true;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  const journal = new Journal({ hash: "", input: "" }, startWorld, undefined);
  const guest = new Guest(watched(nobody), watched(journal));
  const instance = instantiate(code, guest);
  const { exports } = instance;
  if (exports["edge_start"] === undefined) return false;
  guest.attach(exports);
  try {
    await run(instance, "edge_start");
  } catch {
    return false;
  }
  return !looked && guest.vars.size === 0 && isKernelNew(exports);
}
