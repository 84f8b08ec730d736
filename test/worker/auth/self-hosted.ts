import { env } from "cloudflare:workers";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { bundle } from "../../bundle.gen.ts";

/** Begins a self-hosted server with these variables. */
export const beginSelfHosted = (variables: object) =>
  createApp(new Kernel(bundle, { ...env, [RUNS]: "self-hosted", ...variables }));

/** Why a self-hosted server does not begin with these variables, unless PUBLIC_URL says whom tokens are for. */
export function refusalWithoutPublicUrl(variables: object): string {
  beginSelfHosted({ ...variables, PUBLIC_URL: "https://mcp.example.com" });
  // On Cloudflare only the hosts that lead to the Worker come.
  createApp(new Kernel(bundle, { ...env, ...variables }));
  try {
    beginSelfHosted(variables);
  } catch (error) {
    return String(error);
  }
  return "It begins.";
}
