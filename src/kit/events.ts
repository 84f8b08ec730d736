import { callHost } from "./host.ts";

/**
 * Emits an event that the servlet defines in `events`. The caller's own subscribers hear it; with `to: "everyone"`, which the
 * event's definition must allow, those of all callers. `id` is the source's own id of the event, of at most 200 visible ASCII
 * characters: an id that the log of events still has is not emitted again. By default the id is random. Throws an `Error` if the
 * event is unknown, or `data` does not match its `payload` or is too large.
 */
export async function emit(
  name: string,
  data: object,
  { id = crypto.randomUUID(), to }: { id?: string; to?: "everyone" } = {},
): Promise<{ id: string }> {
  await callHost("emit()", "events.emit", { name, data, id, ...(to !== undefined && { to }) });
  return { id };
}
