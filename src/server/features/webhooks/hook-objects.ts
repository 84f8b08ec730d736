/** The objects of webhooks, and the tokens in the addresses of those of callers. */
import { retry } from "../../kernel/core/retry.ts";
import { CallerTokens } from "../../kernel/storage/caller-tokens.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { HookPlace, HookRef } from "./delivery.ts";
import type { HookObject } from "./hook-object.ts";

/** The objects in which deliveries are stored: one for each webhook of a servlet, and one for each caller. */
export class HookObjects {
  readonly #objects: DurableObjectNamespace<HookObject>;
  readonly #tokens: CallerTokens;

  constructor(objects: DurableObjectNamespace<HookObject>, sealer: Sealer) {
    this.#objects = objects;
    this.#tokens = new CallerTokens(sealer, "webhooks");
  }

  /** Calls the object of a servlet's own webhook, again if it dies: use it for repeatable work. */
  ofServlet<T>(
    of: HookRef,
    work: (object: DurableObjectStub<HookObject>) => Promise<T>,
  ): Promise<T> {
    return retry(() => work(this.#objects.getByName(nameOf(of))));
  }

  /** As `ofServlet`, for the object with the webhooks of a caller, by its key. */
  async ofCaller<T>(
    caller: string,
    work: (object: DurableObjectStub<HookObject>) => Promise<T>,
  ): Promise<T> {
    return this.#at(await this.#tokens.placeOf(caller), work);
  }

  /** As `ofServlet`, for the object of this place, whose token `isToken` has accepted. */
  async at<T>(
    { token, ...of }: HookPlace,
    work: (object: DurableObjectStub<HookObject>) => Promise<T>,
  ): Promise<T> {
    if (token === undefined) return this.ofServlet(of, work);
    return this.#at((await this.#tokens.placeIn(token, nameOf(of)))!, work);
  }

  /** A new token for the webhook of a caller. */
  newToken(caller: string, of: HookRef): Promise<string> {
    return this.#tokens.newToken(caller, nameOf(of));
  }

  /** True for a token that this server has made for this webhook, though it may have been revoked since. */
  async isToken(text: string, of: HookRef): Promise<boolean> {
    return (await this.#tokens.placeIn(text, nameOf(of))) !== undefined;
  }

  #at<T>(place: string, work: (object: DurableObjectStub<HookObject>) => Promise<T>): Promise<T> {
    return retry(() => work(this.#objects.getByName(`caller ${place}`)));
  }
}

const nameOf = ({ servlet, hook }: HookRef): string => `${servlet}/${hook}`;
