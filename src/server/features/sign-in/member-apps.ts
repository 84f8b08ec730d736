/** The interface between the sign-in of apps and the feature `team`, whose members sign in at providers. */
import type { AuthRequest, OAuthHelpers } from "@cloudflare/workers-oauth-provider";
import type { Known } from "../../kernel/auth/principal.ts";
import type { SignInLimiter } from "../../kernel/auth/sign-in-limiter.ts";
import type { ClientRequest } from "./consent-page.ts";

declare module "../../kernel/kernel.ts" {
  interface Parts {
    /** Makes the apps of members, for this authorization server. */
    memberApps?(server: AppServer): MemberApps;
  }
}

/** Data that is stored with a member's grant. */
export interface MemberGrant {
  /** The principal. */
  member: string;
  /** `MemberAccess.seal` at the time of the grant. */
  seal: string;
  /** True if the grant is limited to its scopes. */
  isLimited: boolean;
}

/** An app's request to be let in, or the form on its page. */
export interface AppRequest {
  oauth: OAuthHelpers;
  request: Request;
}

/** The parts of the authorization server that the feature `team` uses. */
export interface AppServer {
  limiter: SignInLimiter;
  /** True if the owner can sign in by a passphrase. */
  hasOwner: boolean;
  /** The patterns of the configured scopes. */
  scopes: Readonly<Record<string, readonly string[]>>;
  /** The authorization request. Throws its refusal. */
  asked(app: AppRequest): Promise<AuthRequest>;
  /** The requested scopes that are known. Throws the refusal if all are unknown. */
  granted(asked: AuthRequest, request: Request): string[];
  /** The app, and what these scopes grant, for the page. */
  described(asked: AuthRequest, app: AppRequest, scopes: readonly string[]): Promise<ClientRequest>;
  /** Leads the browser back to an approved app, with its code. */
  complete(
    asked: AuthRequest,
    oauth: OAuthHelpers,
    grant: { headers: Headers; scope: string[]; props: object; userId: string },
  ): Promise<Response>;
}

export interface MemberApps {
  /** The page on which a member signs in or consents; undefined if the owner's is asked for. */
  ask(app: AppRequest): Promise<Response | undefined>;
  /** Handles a member's form; undefined for the owner's. */
  decide(app: AppRequest, form: URLSearchParams): Promise<Response | undefined>;
  /**
   * The member of a grant with these scopes, as a caller. Throws `unauthorized` if the access has ended; `unavailable`.
   */
  holder(grant: MemberGrant, scopes: readonly string[]): Promise<Known>;
  /** Throws the token endpoint's error if the grant's access has ended. `isFresh` has the provider asked. */
  demand(grant: MemberGrant, isFresh: boolean): Promise<void>;
}
