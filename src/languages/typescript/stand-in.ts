/** Where the modules are that stand in for SDKs and for modules of Node. */
import { join, resolve } from "node:path";
import { OWN_EXTENSION } from "../../tools/bundle/own.ts";

/** The folder of the modules. */
export const SERVERS = resolve(import.meta.dirname, "../../kit/servers");

/** The path of one of them. */
export const standIn = (name: string): string => join(SERVERS, `${name}${OWN_EXTENSION}`);
