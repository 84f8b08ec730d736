import { DurableObject } from "cloudflare:workers";
import { Attempts } from "./auth/attempts.ts";
import { KeyRecords } from "./auth/key-records.ts";
import { Quota } from "./auth/quota.ts";
import type { Kernel } from "./kernel.ts";
import type { ObjectClass } from "./object-class.ts";
import { KeyRing } from "./storage/key-ring.ts";

/** The names of all classes, as wrangler.toml has them. */
const CLASS_NAMES = [
  ...(["Attempts", "CallRecord", "Grant", "Hub", "Installs", "KeyRecords", "KeyRing"] as const),
  ...(["Profile", "Quota", "ServletState", "Session", "States", "Task", "Usage"] as const),
];
type ClassName = (typeof CLASS_NAMES)[number];

/** Stands for the classes of features that are left out: an entry file may export all. */
class Absent extends DurableObject {}
const ABSENT = Object.fromEntries(CLASS_NAMES.map((name) => [name, Absent]));

/** The Durable Object classes of a kernel and its features. */
export const durableObjects = ({ started }: Kernel): Readonly<Record<ClassName, ObjectClass>> =>
  Object.assign(
    {},
    ABSENT,
    { Attempts, KeyRecords, KeyRing, Quota },
    ...started.map(({ objects }) => objects),
  ) as Record<ClassName, ObjectClass>;
