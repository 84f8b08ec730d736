import type { Struct } from "./capnp.ts";
import type { Configuration } from "./configuration.ts";
import { MEMORY, RUNS } from "../../server/kernel/settings/own-names.ts";
import { EXPORTER_ONLY } from "./exporter.ts";
import { modulesIn } from "./modules.ts";
import { storeService, storesOf } from "./stores.ts";
import {
  folderService,
  fromEnvironment,
  workerService,
  type ExtraServices,
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
  /** Bytes of memory that the machine or container has. */
  memory: number;
  /** Path of the socket on which the Worker receives whether the disk is full; absent for a Worker without `Disk`. */
  diskSocket?: string;
  /** Trust a reverse proxy's headers for the client's address and for the requested host. */
  trustProxy: boolean;
  /** Servlets may reach private networks. */
  privateNetwork: boolean;
  extra?: ExtraServices | undefined;
}

export async function servicesOf(hosted: Hosted): Promise<WorkerdConfig> {
  const { configuration, worker, variables, objects, host, port, trustProxy } = hosted;
  const { compatibilityDate, compatibilityFlags, assets, storageNames } = configuration;
  const main = workerService({
    name: "main",
    files: await modulesIn(worker),
    compatibilityDate,
    compatibilityFlags,
    bindings: [
      ...Object.keys(variables)
        .filter((name) => !EXPORTER_ONLY.test(name) && ![RUNS, MEMORY].includes(name))
        .map(fromEnvironment),
      { name: RUNS, text: "self-hosted" },
      { name: MEMORY, text: String(hosted.memory) },
      ...bindingsOf(configuration),
      ...(hosted.extra?.bindings ?? []),
    ],
    objects: storageNames,
    storage: "storage",
    ...(hosted.extra && { more: hosted.extra.worker }),
  });
  const stores = storesOf(configuration);
  return {
    services: [
      main,
      ...stores.map((store) => storeService(store, compatibilityDate)),
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
        http: {},
        service: { name: "main", props: { json: JSON.stringify({ trustProxy }) } },
      },
      ...(hosted.diskSocket === undefined
        ? []
        : [
            {
              name: "disk",
              address: `unix:${hosted.diskSocket}`,
              http: {},
              service: { name: "main", entrypoint: "Disk" },
            },
          ]),
    ],
  };
}

const bindingsOf = ({ objects, loaders, assets, ...stores }: Configuration): Struct[] => [
  ...Object.entries(objects).map(([name, of]) => ({ name, durableObjectNamespace: of })),
  ...storesOf(stores).map(({ name, kind, service }) => ({ name, [kind]: service })),
  ...loaders.map((name) => ({ name, workerLoader: {} })),
  ...(assets === undefined ? [] : [{ name: assets.binding, service: "assets" }]),
];
