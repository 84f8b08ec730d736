import type { Json } from "../../core/model.ts";
import { capabilities } from "../wire/capabilities.ts";
import { LEGACY_VERSIONS, MODERN_VERSIONS } from "../wire/classify.ts";
import type { Exchange } from "../wire/exchange.ts";
import type { RpcRequest } from "../wire/message.ts";

/** https://modelcontextprotocol.io/specification/2026-07-28/server/discover */
export async function discover(
  _request: RpcRequest,
  { introduction, registry, hub, tasks }: Exchange,
): Promise<Json> {
  return {
    supportedVersions: [...MODERN_VERSIONS, ...LEGACY_VERSIONS],
    capabilities: await capabilities(registry, {
      listens: hub !== undefined,
      tasks: tasks !== undefined,
    }),
    ...(introduction.instructions !== undefined && { instructions: introduction.instructions }),
  };
}
