import { env } from "cloudflare:workers";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { hashed } from "../auth/key-holders.ts";
import { bundle } from "../../bundle.gen.ts";
import { browser } from "./browser.ts";

/** Operators at their page. */

export const PATH = "/console/operate";
export const keysOf = async (operators: readonly string[], callers: readonly string[]) => {
  const all = JSON.parse(await hashed([...operators, ...callers])) as Record<string, string>;
  // One named "narrow" may use few tools itself.
  const operating = operators.map((name) => {
    const own = name.startsWith("narrow") ? ["hello:*", "chart:draw*"] : ["*:*"];
    return [name, { hash: all[name], scopes: ["operator", ...own] }];
  });
  return JSON.stringify({ ...all, ...Object.fromEntries(operating) });
};

export const served = async (operators: readonly string[], callers: readonly string[] = []) =>
  createApp(
    new Kernel(bundle, {
      ...env,
      API_KEYS: await keysOf(operators, callers),
      LOADER: env.TEST_LOADER,
    }),
  );

export type Server = Awaited<ReturnType<typeof served>>;

export async function signedIn(server: Server, key: string) {
  const one = browser(server);
  await one.send(PATH, { credential: key });
  return one;
}

/** The fields of the form with this button, whose label may go on for screen readers alone. */
export function formWith(page: string, label: string): Record<string, string> {
  const html = page.replaceAll(/<span class="unseen">( [^<]*)<\/span>/g, "$1");
  const end = html.indexOf(`>${label}</button>`);
  if (end < 0) throw new Error(`there is no button "${label}"`);
  const form = html.slice(html.lastIndexOf("<form", end), end);
  return Object.fromEntries(
    [...form.matchAll(/name="([^"]*)"\s+value="([^"]*)"/g)].map(([, name, value]) => [
      name!,
      value!,
    ]),
  );
}
