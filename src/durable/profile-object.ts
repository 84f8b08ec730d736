/** A secret of a person, which one servlet may have. */
export interface SecretOf {
  servlet: string;
  name: string;
}

/** The kept secrets of a person, without their values; and the calls that were handed over, by id. */
export interface ProfileSummary {
  secrets: (SecretOf & { keptAt: number })[];
  calls: string[];
}

/** RPC interface of what is kept for one principal, whose name each method is given. */
export interface ProfileObject extends Rpc.DurableObjectBranded {
  /** Keeps a secret, in place of the earlier one; false if there are too many. */
  keep(principal: string, of: SecretOf, value: string): Promise<boolean>;
  /** The secret if it was kept after `after` (Unix ms); waits at most `ms` for it. */
  secret(
    principal: string,
    of: SecretOf,
    wait: { after: number; ms: number },
  ): Promise<string | undefined>;
  forget(of: SecretOf): Promise<void>;
  /** Notes a call that was handed over, which is stored until then. */
  note(call: string, until: number): Promise<void>;
  summary(principal: string): Promise<ProfileSummary>;
}
