/** Reads settings as a server with all features does: for tools, which check them before they know the server's features. */
import "./features/issuers/limits.ts";
import "./features/people/limits.ts";
import "./features/sessions/limits.ts";
import "./features/sign-in/limits.ts";
import "./features/state/limits.ts";
import "./kernel/auth/limits.ts";
import "./kernel/mcp/limits.ts";
import "./kernel/wasm/limits.ts";

export { demandAudience, deploymentOf, readSettings } from "./kernel/settings/env.ts";
