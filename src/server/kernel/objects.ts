import { DurableObject } from "cloudflare:workers";
import { Attempts } from "./auth/attempts.ts";
import { KeyRecords } from "./auth/key-records.ts";
import { Quota } from "./auth/quota.ts";
import type { Kernel } from "./kernel.ts";
import type { ObjectClass } from "./object-class.ts";
import { KeyRing } from "./storage/key-ring.ts";

/** Placeholder for the classes of absent features: an entry file may export all classes. */
class Absent extends DurableObject {}

/** The Durable Object classes of a kernel and its features, by name. */
export const durableObjects = ({ started }: Kernel): Readonly<Record<string, ObjectClass>> =>
  new Proxy(
    Object.assign(
      { Attempts, KeyRecords, KeyRing, Quota },
      ...started.map(({ objects }) => objects),
    ) as Record<string, ObjectClass>,
    { get: (all, name) => (Reflect.get(all, name) as ObjectClass | undefined) ?? Absent },
  );
