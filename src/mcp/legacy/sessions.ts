import type { Principal } from "../../core/model.ts";
import type { Introduced } from "./session-object.ts";
import type { Session } from "./session.ts";

/** The sessions of a Worker. */
export class Sessions {
  readonly #objects: DurableObjectNamespace<Session>;

  constructor(objects: DurableObjectNamespace<Session>) {
    this.#objects = objects;
  }

  /** Returns the id of a new session when it is durable. Ids of the platform cannot be guessed. */
  async create({ name, address, profile }: Principal, client: Introduced): Promise<string> {
    const id = this.#objects.newUniqueId();
    await this.#objects
      .get(id)
      .create({ name, ...(address && { address }), ...(profile && { profile }) }, client);
    return id.toString();
  }

  /** Undefined for an id that this deployment cannot have made. */
  get(id: string): DurableObjectStub<Session> | undefined {
    try {
      return this.#objects.get(this.#objects.idFromString(id));
    } catch {
      return undefined;
    }
  }
}
