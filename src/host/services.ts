import { join } from "node:path";
import type { Struct } from "./capnp.ts";
import type { Configuration } from "./configuration.ts";
import { modulesIn } from "./build.ts";
import {
  folderService,
  fromEnvironment,
  workerService,
  type WorkerdConfig,
} from "./workerd-config.ts";

/** A server as `start` runs it. */
export interface Hosted {
  configuration: Configuration;
  /** The folder with the built Workers. */
  worker: string;
  variables: Readonly<Record<string, string>>;
  /** The folder with the Durable Objects. */
  objects: string;
  host: string;
  port: number;
  /** A proxy before the server says who the client is, and whether it came by https. */
  trustProxy: boolean;
  /** Servlets may reach private networks. */
  privateNetwork: boolean;
  /** More services, and fields of the Worker such as `tails`, which name them. */
  extra?: { services: readonly Struct[]; worker: Struct };
}

/** The folder, below that of the Worker, of what stands in for the platform. */
export const PLATFORM = "platform";

/** The configuration of workerd for a server. */
export async function servicesOf(hosted: Hosted): Promise<WorkerdConfig> {
  const { configuration, worker, variables, objects, host, port, trustProxy } = hosted;
  const { compatibilityDate, compatibilityFlags, assets, storageNames } = configuration;
  const main = workerService({
    name: "main",
    files: await modulesIn(worker),
    compatibilityDate,
    compatibilityFlags,
    bindings: [...Object.keys(variables).map(fromEnvironment), ...bindingsOf(configuration)],
    objects: storageNames,
    storage: "storage",
    ...(hosted.extra && { more: hosted.extra.worker }),
  });
  const stores = configuration.kv.map((name) => kvService(name, compatibilityDate));
  return {
    services: [
      main,
      ...stores,
      {
        name: "internet",
        network: {
          allow: hosted.privateNetwork ? ["public", "private"] : ["public"],
          tlsOptions: { trustBrowserCas: true },
        },
      },
      ...(assets === undefined ? [] : [folderService("assets", assets.directory)]),
      folderService("storage", objects, true),
      ...(hosted.extra?.services ?? []),
    ],
    sockets: [
      {
        name: "http",
        address: `${host.includes(":") ? `[${host}]` : host}:${port}`,
        http: trustProxy ? { forwardedProtoHeader: "X-Forwarded-Proto" } : {},
        service: { name: "main", props: { json: JSON.stringify({ trustProxy }) } },
      },
    ],
  };
}

const bindingsOf = ({ objects, kv, loaders, assets }: Configuration): Struct[] => [
  ...Object.entries(objects).map(([name, of]) => ({ name, durableObjectNamespace: of })),
  ...kv.map((name) => ({ name, kvNamespace: kvName(name) })),
  ...loaders.map((name) => ({ name, workerLoader: {} })),
  ...(assets === undefined ? [] : [{ name: assets.binding, service: "assets" }]),
];

const kvName = (binding: string) => `kv.${binding}`;

const kvService = (binding: string, compatibilityDate: string): Struct =>
  workerService({
    name: kvName(binding),
    files: [join(PLATFORM, "kv.js")],
    compatibilityDate,
    bindings: [{ name: "STORE", durableObjectNamespace: "KvStore" }],
    objects: { KvStore: kvName(binding) },
    storage: "storage",
  });
