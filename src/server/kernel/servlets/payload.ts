import type * as z from "zod/mini";
import { Fault } from "../core/errors.ts";

/** What a servlet gives a host function of a feature, as the schema describes it. Throws `invalid_params`. */
export function payloadOf<T>(schema: z.ZodMiniType<T>, payload: unknown): T {
  const found = schema.safeParse(payload);
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw new Fault("invalid_params", `${issue!.path.join(".")}: ${issue!.message}.`);
}
