/** Runs in workerd while a bundle is made: asks servlets for their lists, through the code that will serve them. */
import { Fault } from "../errors.ts";
import { dialects, type DialectName } from "../servlets/dialects.ts";
import { listAll } from "../servlets/servlet.ts";
import { callExport } from "../wasm/call.ts";
import { liveWorld } from "../wasm/world.ts";

export interface Asked {
  module: WebAssembly.Module;
  patch?: ArrayBuffer;
  dialect: DialectName;
  exports: string[];
  idsAsGiven: boolean;
}

export function answerer(servlets: Record<string, Asked>) {
  return {
    async fetch(request: Request): Promise<Response> {
      const { dialect, exports, idsAsGiven, ...program } =
        servlets[new URL(request.url).pathname.slice(1)]!;
      const calls = new Set<string>();
      const logs: string[] = [];
      const servlet = dialects[dialect]({
        exports,
        idsAsGiven,
        run: (name, input, call) =>
          callExport(program, name, input, {
            world: {
              ...liveWorld,
              fetch: () => {
                calls.add("http_request");
                return Promise.reject(new Error("there is no network while a bundle is made"));
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
            allowedHosts: ["*"],
            secret: () => {
              calls.add("get_keyring_secret");
              return undefined;
            },
            logLevel: "warn",
            signal: call.signal,
            log: (_level, text) => logs.push(text),
            notify: () => {},
            ask: (ask) => {
              calls.add(ask.method);
              return Promise.reject(new Fault("servlet_failed", "Nobody can be asked for a list."));
            },
          }),
      });
      try {
        return Response.json({ lists: await listAll(servlet), calls: [...calls], logs });
      } catch (error) {
        const fault = Fault.from(error);
        const why = fault.code === "internal" ? String(fault.cause) : fault.message;
        return Response.json({ error: why, calls: [...calls], logs });
      }
    },
  };
}
