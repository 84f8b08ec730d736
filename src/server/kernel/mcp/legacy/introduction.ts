/** Methods that clients without a session may also call. */
import { isObject, type Json } from "../../core/model.ts";
import { capabilities, instructionsFor } from "../wire/capabilities.ts";
import { LEGACY_VERSIONS } from "../wire/classify.ts";
import type { Exchange } from "../method.ts";
import { logLevelIn } from "../wire/notifications.ts";
import { hasTasks, olderIntroduction } from "./shapes.ts";

/** The `tasks` capability of a server with sessions. */
const TASK_CAPABILITY = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization */
export async function initialize(
  { protocolVersion, capabilities: client }: Json,
  { introduction, registry, sessions }: Exchange,
) {
  const version =
    LEGACY_VERSIONS.find((one) => one === protocolVersion) ?? String(LEGACY_VERSIONS[0]);
  const offersTasks = sessions !== undefined && hasTasks(version);
  const declared = isObject(client) ? client : {};
  const introduced = {
    protocolVersion: version,
    capabilities: {
      ...(await capabilities(registry, declared, { listens: sessions !== undefined })),
      ...(offersTasks && { tasks: TASK_CAPABILITY }),
    },
    serverInfo: introduction.info,
    ...(await instructionsFor(introduction, registry, declared)),
  };
  return olderIntroduction(introduced, version);
}

export const ping = () => ({});

/** Only checks the params: without a session the level cannot be stored. */
export function setLevel(params: Json): Json {
  logLevelIn(params);
  return {};
}
