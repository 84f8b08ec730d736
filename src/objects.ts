import { Attempts } from "./auth/attempts.ts";
import { KeyRecords } from "./auth/key-records.ts";
import { Quota } from "./auth/quota.ts";
import type { Kernel } from "./kernel.ts";
import type { ObjectClass } from "./object-class.ts";
import { KeyRing } from "./storage/key-ring.ts";

/** The names of all classes, as wrangler.toml has them. */
type ClassName =
  | ("Attempts" | "CallRecord" | "Grant" | "Hub" | "Installs" | "KeyRecords" | "KeyRing")
  | ("Profile" | "Quota" | "ServletState" | "Session" | "States" | "Task" | "Usage");

/** The Durable Object classes of a kernel and its features; those of other features are absent. */
export const durableObjects = ({ started }: Kernel): Readonly<Record<ClassName, ObjectClass>> =>
  Object.assign(
    { Attempts, KeyRecords, KeyRing, Quota },
    ...started.map(({ objects }) => objects),
  ) as Record<ClassName, ObjectClass>;
