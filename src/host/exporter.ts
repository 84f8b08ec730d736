import { Refusal } from "../bundle/refusal.ts";
import { traceSettings } from "../observe/trace-settings.ts";
import type { Struct } from "./capnp.ts";
import { fromEnvironment, workerService } from "./workerd-config.ts";

/** Variables that only the exporter receives: they hold the collector's keys. */
export const EXPORTER_ONLY = /^OTEL_EXPORTER_OTLP_(TRACES_)?HEADERS$/;

/**
 * The service that exports traces; undefined if the variables name no collector. `file` is its built Worker. Throws a
 * `Refusal` for a variable that is not valid.
 */
export function exporterOf(
  variables: Readonly<Record<string, string>>,
  { file, compatibilityDate }: { file: string; compatibilityDate: string },
): { services: Struct[]; worker: Struct } | undefined {
  if (settingsIn(variables).endpoint === undefined) return undefined;
  const names = Object.keys(variables).filter(
    (name) => name.startsWith("OTEL_") || ["SERVER_NAME", "SERVER_VERSION"].includes(name),
  );
  const exporter = workerService({
    name: "exporter",
    files: [file],
    compatibilityDate,
    bindings: names.map(fromEnvironment),
    more: { globalOutbound: "collector" },
  });
  // A collector is usually in the private network, unlike the hosts that servlets may reach.
  const network = { allow: ["public", "private"], tlsOptions: { trustBrowserCas: true } };
  return {
    services: [exporter, { name: "collector", network }],
    worker: { streamingTails: ["exporter"] },
  };
}

function settingsIn(variables: object) {
  try {
    return traceSettings(variables);
  } catch (error) {
    throw new Refusal((error as Error).message);
  }
}
