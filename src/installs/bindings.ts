import { namespaceOf } from "../settings/env.ts";
import { BuildBucket } from "./bucket.ts";
import type { InstallsObject } from "./installs-object.ts";

const bindingOf = (env: object, name: string): unknown =>
  Object.entries(env).find(([binding]) => binding === name)?.[1];

/** The bucket of builds; undefined if it is not bound. */
export function bucketOf(env: object): BuildBucket | undefined {
  const bucket = bindingOf(env, "BUILDS") as R2Bucket | undefined;
  return bucket && new BuildBucket(bucket);
}

/** The binding that makes isolates for servlets; undefined if it is not bound. */
export const loaderOf = (env: object) => bindingOf(env, "LOADER") as WorkerLoader | undefined;

/** The object that has all installed servlets; undefined if it is not bound. */
export function installsOf(env: object): (() => DurableObjectStub<InstallsObject>) | undefined {
  const objects = namespaceOf<InstallsObject>(env, "INSTALLS");
  return objects && (() => objects.getByName("installs"));
}
