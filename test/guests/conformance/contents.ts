// Contents that tools, resources and prompts share.
import type { ContentBlock } from "edge-servlets/servlet";

/** One red pixel. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";
/** One millisecond of silence. */
const WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

export const IMAGE: ContentBlock = { type: "image", data: PNG, mimeType: "image/png" };
export const AUDIO: ContentBlock = { type: "audio", data: WAV, mimeType: "audio/wav" };

export function embedded(uri: string, mimeType: string, text: string): ContentBlock {
  return { type: "resource", resource: { uri, mimeType, text } };
}
