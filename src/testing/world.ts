import type { World } from "../wasm/world.ts";

/** The clock, network and random numbers of a script. */
export function scriptedWorld({
  fetch,
  now = 0,
}: {
  fetch?: (request: Request) => Response | Promise<Response>;
  now?: number | (() => number);
}): World {
  let time = typeof now === "number" ? now : 0;
  return {
    now: () => (typeof now === "number" ? time : now()),
    random: (bytes) => void crypto.getRandomValues(bytes),
    sleep: async (ms) => {
      time += ms;
    },
    fetch: async (request) => {
      if (fetch === undefined) throw new Error("the script has no fetch");
      return fetch(request);
    },
  };
}
