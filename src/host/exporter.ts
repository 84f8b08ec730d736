import { Refusal } from "../bundle/refusal.ts";
import { traceSettings } from "../tracing/settings.ts";
import type { Struct } from "./capnp.ts";
import { fromEnvironment, workerService } from "./workerd-config.ts";

/** Variables that only the exporter is given: keys of the collector. */
export const EXPORTERS_OWN = /^OTEL_EXPORTER_OTLP_(TRACES_)?HEADERS$/;

/**
 * The Worker, in this file, that sends traces to where the variables say; undefined where they name no collector. Throws a
 * `Refusal` for a variable that is not valid.
 */
export function exporterOf(
  variables: Readonly<Record<string, string>>,
  { file, compatibilityDate }: { file: string; compatibilityDate: string },
): { services: Struct[]; worker: Struct } | undefined {
  if (settingsIn(variables).endpoint === undefined) return undefined;
  const names = Object.keys(variables).filter((name) => name.startsWith("OTEL_"));
  const exporter = workerService({
    name: "exporter",
    files: [file],
    compatibilityDate,
    bindings: names.map(fromEnvironment),
    more: { globalOutbound: "collector" },
  });
  // A collector is most often in the same network, which servlets may not reach.
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
