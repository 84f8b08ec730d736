import {
  assemblyScriptFunctions,
  extismFunctions,
  userFunctions,
  type HostFunctions,
} from "./host.ts";
import { wasiFunctions } from "./wasi.ts";

/** The namespaces that a prepared servlet imports from, and what is offered in each. */
export const namespaces: Readonly<Record<string, HostFunctions>> = {
  "edge:host": extismFunctions,
  "edge:user": userFunctions,
  "edge:wasi": wasiFunctions,
  "edge:env": assemblyScriptFunctions,
};
