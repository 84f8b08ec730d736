import { Embed, write, type Struct } from "./capnp.ts";
import { moduleKindOf } from "./modules.ts";

/** workerd's configuration. https://github.com/cloudflare/workerd/blob/main/src/workerd/server/workerd.capnp */
export interface WorkerdConfig {
  services: readonly Struct[];
  sockets: readonly Struct[];
}

/** The text of a configuration, as `workerd serve` reads it. */
export const configText = (config: WorkerdConfig): string =>
  `using Workerd = import "/workerd/workerd.capnp";\nconst config :Workerd.Config = ${write({ v8Flags: V8_FLAGS, ...config })};\n`;

/** The Worker collects garbage itself: see `src/server/kernel/wasm/garbage.ts`. */
const V8_FLAGS = ["--expose-gc"];

/** Further services, and fields and bindings of the server's Worker that refer to them, such as `streamingTails`. */
export interface ExtraServices {
  services: readonly Struct[];
  worker: Struct;
  bindings: readonly Struct[];
}

interface WorkerService {
  name: string;
  /** Paths of its files below the import path; the first is the main module. */
  files: readonly string[];
  compatibilityDate: string;
  compatibilityFlags?: readonly string[];
  bindings?: readonly Struct[];
  /** Its stored Durable Objects: by class, the unique key that names their storage. */
  objects?: Readonly<Record<string, string>>;
  /** Name of the service with the folder for their data. */
  storage?: string;
  /** Other fields of the Worker, such as `tails`. */
  more?: Struct;
}

export function workerService(worker: WorkerService): Struct {
  const { name, files, compatibilityDate, compatibilityFlags = [], bindings = [] } = worker;
  const { objects = {}, storage, more = {} } = worker;
  const modules = files.map((path) => ({
    name: path,
    [moduleKindOf(path)]: new Embed(`/${path}`),
  }));
  const namespaces = Object.entries(objects).map(([className, uniqueKey]) => ({
    className,
    uniqueKey,
    enableSql: true,
  }));
  return {
    name,
    worker: {
      modules,
      compatibilityDate,
      compatibilityFlags,
      bindings,
      ...(namespaces.length > 0 && { durableObjectNamespaces: namespaces }),
      ...(storage !== undefined && { durableObjectStorage: { localDisk: storage } }),
      ...more,
    },
  };
}

/** A folder as a service. workerd resolves a relative path against its own working directory. */
export const folderService = (name: string, path: string, writable = false): Struct => ({
  name,
  disk: { path, writable },
});

/** A text binding whose value workerd reads from its environment, so that no secret is in a file. */
export const fromEnvironment = (name: string): Struct => ({ name, fromEnvironment: name });
