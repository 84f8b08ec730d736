import { namespaceOf } from "../env.ts";
import { limits } from "../limits.ts";
import { retry } from "../retry.ts";
import type { ProfileObject, SecretOf } from "./profile-object.ts";
import type { Sealer } from "./vault.ts";

/** A secret that a servlet asks a person for. */
export interface AskedSecret extends SecretOf {
  principal: string;
  /** What the servlet says about it. */
  message: string;
  /** Until when it may be entered, in Unix ms. */
  until: number;
}

/** What is kept for each person, and the pages on which they enter secrets. */
export class Profiles {
  readonly #objects: DurableObjectNamespace<ProfileObject>;
  readonly #sealer: Sealer;

  constructor(objects: DurableObjectNamespace<ProfileObject>, sealer: Sealer) {
    this.#objects = objects;
    this.#sealer = sealer;
  }

  /** Does something with what is kept for this principal, again if its object dies: all can be repeated. */
  at<T>(
    principal: string,
    work: (profile: DurableObjectStub<ProfileObject>) => Promise<T>,
  ): Promise<T> {
    return retry(() => work(this.#objects.getByName(principal)));
  }

  find(
    principal: string,
    of: SecretOf,
    wait: { after: number; ms: number },
  ): Promise<string | undefined> {
    return this.at(principal, async (profile) => profile.secret(principal, of, wait));
  }

  /** The address of the page that takes a secret. It says to nobody else what is asked. */
  async page(origin: string, asked: Omit<AskedSecret, "until">): Promise<string> {
    const whole: AskedSecret = { ...asked, until: Date.now() + limits.taskMs };
    const sealed = await this.#sealer.seal(encoder.encode(JSON.stringify(whole)), PLACE);
    return `${origin}${PATH}${sealed.toBase64({ alphabet: "base64url", omitPadding: true })}`;
  }

  /** What the page with this token takes; undefined for one that is not of this server, or too old. */
  async asked(token: string): Promise<AskedSecret | undefined> {
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = Uint8Array.fromBase64(token, { alphabet: "base64url" });
    } catch {
      return undefined;
    }
    const opened = await this.#sealer.open(bytes, PLACE);
    const asked = opened && (JSON.parse(new TextDecoder().decode(opened)) as AskedSecret);
    return asked && asked.until > Date.now() ? asked : undefined;
  }
}

/** The path of such pages, before their token. */
const PATH = "/secret/";

/** The path of a page that takes a secret, if this address is one of such a page here. */
export const secretPathIn = (address: unknown, origin: string): string | undefined =>
  typeof address === "string" && address.startsWith(`${origin}${PATH}`)
    ? address.slice(origin.length)
    : undefined;

/** A page's sealed token is none of anything else. */
const PLACE = "page of a secret";

/** Undefined without the binding PROFILES or keys. */
export function profilesOf(env: object, sealer: Sealer | undefined): Profiles | undefined {
  const objects = namespaceOf<ProfileObject>(env, "PROFILES");
  return objects && sealer && new Profiles(objects, sealer);
}

const encoder = new TextEncoder();
