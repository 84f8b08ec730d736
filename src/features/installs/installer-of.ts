import { Fault } from "../../core/errors.ts";
import type { Installer } from "./installer.ts";

/** The installer. Throws `unavailable` that names the missing bindings. */
export function installerOf({ installer }: { readonly installer?: Installer }): Installer {
  if (installer !== undefined) return installer;
  throw new Fault(
    "unavailable",
    "This server cannot keep builds: bind the R2 bucket BUILDS, the Worker Loader LOADER and the Durable Object INSTALLS in wrangler.toml, then deploy, or start npm run dev, again. See docs/installing.md.",
  );
}
