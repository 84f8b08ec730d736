/**
 * What is loaded into the engine before any servlet: the kit, as a global from which servlets' scripts take it,
 * and the platform's globals.
 */
import * as files from "./files.ts";
import * as globals from "./globals.ts";
import { refuseLocales } from "./globals/locales.ts";
import { messageOf } from "./host.ts";
import { convertWith } from "./schema.ts";
import * as servlet from "./servlet.ts";

export const kit = { servlet: { ...servlet, convertWith }, files, messageOf };

declare global {
  var __kit: typeof kit;
}

globalThis.__kit = kit;
refuseLocales();
for (const [name, value] of Object.entries({ ...globals, self: globalThis })) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}
