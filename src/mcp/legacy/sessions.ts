import { namespaceOf } from "../../settings/env.ts";
import type { Principal } from "../../core/model.ts";
import type { Introduced, SessionObject } from "./session-object.ts";

/** The sessions of a Worker. */
export class Sessions {
  readonly #objects: DurableObjectNamespace<SessionObject>;

  constructor(objects: DurableObjectNamespace<SessionObject>) {
    this.#objects = objects;
  }

  /** Returns the id of a new session when it is durable. Ids of the platform cannot be guessed. */
  async create({ name, address }: Principal, client: Introduced): Promise<string> {
    const id = this.#objects.newUniqueId();
    await this.#objects.get(id).create({ name, ...(address && { address }) }, client);
    return id.toString();
  }

  /** Undefined for an id that this deployment cannot have made. */
  get(id: string): DurableObjectStub<SessionObject> | undefined {
    try {
      return this.#objects.get(this.#objects.idFromString(id));
    } catch {
      return undefined;
    }
  }
}

/** The sessions of a Worker with this binding; undefined without it. */
export function sessionsOf(env: object): Sessions | undefined {
  const objects = namespaceOf<SessionObject>(env, "SESSIONS");
  return objects && new Sessions(objects);
}
