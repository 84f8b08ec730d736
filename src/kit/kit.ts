/**
 * The script that QuickJS loads before any servlet: it defines the kit, as a global for servlets' scripts, and the globals of
 * the web platform.
 */
import * as answers from "./answers.ts";
import * as context from "./context.ts";
import * as files from "./files.ts";
import * as globals from "./globals.ts";
import { lazy, make, provide, provideLazily } from "./globals/lazy.ts";
import { refuseLocales } from "./globals/locales.ts";
import * as bytes from "./globals/bytes.ts";
import * as host from "./host.ts";
import * as json from "./json.ts";
import * as random from "./random.ts";
import * as run from "./run.ts";
import * as schema from "./schema.ts";
import * as templates from "./templates.ts";
import * as timers from "./timers.ts";
import * as servlet from "./servlet.ts";

export const kit = {
  servlet: { ...servlet, convertWith: schema.convertWith },
  files,
  messageOf: host.messageOf,
  make,
  lazy,
  /** Modules of the kit that lazy modules and `servers/` use, by file name. */
  shared: { answers, bytes, context, host, json, random, run, schema, templates, timers },
};

declare global {
  var __kit: typeof kit;
}

globalThis.__kit = kit;
refuseLocales();
for (const [name, value] of Object.entries({ ...globals, self: globalThis })) provide(name, value);
provideLazily();
// JavaScript's own classes whose contents JSON would lose.
json.watch(
  Map,
  Set,
  Error,
  RegExp,
  Promise,
  WeakMap,
  WeakSet,
  WeakRef,
  ArrayBuffer,
  DataView,
  Iterator,
  Object.getPrototypeOf(Uint8Array) as { prototype: object },
);
