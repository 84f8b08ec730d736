import { Refusal } from "../bundle/refusal.ts";
import { metricSettings, traceSettings } from "../../server/kernel/observe/otel-settings.ts";
import { COLLECTOR } from "../../server/kernel/settings/own-names.ts";
import { fromEnvironment, workerService, type ExtraServices } from "./workerd-config.ts";

/** Variables that only the exporter receives, because they contain the collector's keys. */
export const EXPORTER_ONLY = /^OTEL_EXPORTER_OTLP_((TRACES|METRICS)_)?HEADERS$/;

/**
 * The service that exports traces, and forwards metrics to the collector; undefined if the variables name no collector.
 * `file` is its built Worker. Throws a `Refusal` for an invalid variable.
 */
export function exporterOf(
  variables: Readonly<Record<string, string>>,
  { file, compatibilityDate }: { file: string; compatibilityDate: string },
): ExtraServices | undefined {
  const { traces, metrics } = settingsIn(variables);
  if (traces.endpoint === undefined && metrics.endpoint === undefined) return undefined;
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
    worker: traces.endpoint === undefined ? {} : { streamingTails: ["exporter"] },
    bindings: metrics.endpoint === undefined ? [] : [{ name: COLLECTOR, service: "exporter" }],
  };
}

function settingsIn(variables: object) {
  try {
    return { traces: traceSettings(variables), metrics: metricSettings(variables) };
  } catch (error) {
    throw new Refusal((error as Error).message);
  }
}
