import { limits } from "../limits.ts";
import { fuelOf } from "../servlets/manifest.ts";
import { printable } from "../text.ts";
import type { Build } from "./build.ts";

/** What a servlet may do, in lines for people who decide about it. */
export function permissionsOf({ manifest, lists }: Pick<Build, "manifest" | "lists">): string[] {
  const { allowed_hosts, allowed_secrets, allowed_paths, env_vars, memory_limit } = manifest;
  const secrets = allowed_secrets?.map(({ service, user }) => `${service} (${user})`);
  const seconds = (fuelOf(manifest) ?? limits.guestFuel) / limits.fuelPerSecond;
  const all: [string, readonly string[] | undefined][] = [
    ["Its tools", lists?.tools.map(({ name }) => name) ?? ["known when it runs"]],
    ["It may reach these hosts", allowed_hosts],
    ["It may read these secrets", secrets],
    ["It gets these settings", env_vars && Object.keys(env_vars)],
    ["It has these folders", allowed_paths],
    ["It may take", [`${memory_limit ?? "64Mi"} of memory`, `${seconds} s of computing a call`]],
  ];
  return all.flatMap(([what, names = []]) =>
    names.length === 0 ? [] : [printable(`${what}: ${names.join(", ")}.`)],
  );
}
