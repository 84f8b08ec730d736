import type { Struct } from "./capnp.ts";
import type { Configuration } from "./configuration.ts";
import { workerService } from "./workerd-config.ts";

/** The folder of the platform Workers, below the Worker's. */
export const PLATFORM = "platform";

/** By kind of binding: the script of its store, and the class of the store's Durable Object. */
const STORES = {
  kvNamespace: { script: "kv", class: "KvStore" },
  r2Bucket: { script: "r2", class: "R2Store" },
} as const;

interface Store {
  /** The name of its binding. */
  name: string;
  kind: keyof typeof STORES;
  /** Name of its service, and of its folder in `objects/`. */
  service: string;
}

/** The stores that a configuration binds. */
export const storesOf = ({ kv, buckets }: Pick<Configuration, "kv" | "buckets">): Store[] => [
  ...kv.map((name): Store => ({ name, kind: "kvNamespace", service: `kv.${name}` })),
  ...buckets.map((name): Store => ({ name, kind: "r2Bucket", service: `r2.${name}` })),
];

/** The service behind the binding of a store. */
export function storeService({ kind, service }: Store, compatibilityDate: string): Struct {
  const { script, class: className } = STORES[kind];
  return workerService({
    name: service,
    files: [`${PLATFORM}/${script}.js`],
    compatibilityDate,
    bindings: [{ name: "STORE", durableObjectNamespace: className }],
    objects: { [className]: service },
    storage: "storage",
  });
}
