/** What the server knows of all features, also of those that it was built without: the bundle step tells the Worker. */

/** How to get a feature, and what only a server with it can set: settings, and limits of `LIMITS`. */
export interface Optional {
  readonly add: string;
  readonly settings?: readonly string[];
  readonly limits?: readonly string[];
}

export interface KnownFeatures {
  /** The names of their bindings. */
  readonly bindings: readonly string[];
  /** The names of their settings. */
  readonly settings: readonly string[];
  /** Those that can be missed, by name. */
  readonly optional: Readonly<Record<string, Optional>>;
}

export let known: KnownFeatures = { bindings: [], settings: [], optional: {} };

/** Sets `known`: a Worker from its bundle, tools as `src/tools/bundle/features.ts` is loaded. */
export function knowFeatures(all: KnownFeatures): void {
  known = all;
}

/** Why a limit is unknown to a server without its feature, and how to get that; undefined if no feature has it. */
export function whyNoLimit(limit: string): string | undefined {
  const found = Object.entries(known.optional).find(([, { limits }]) => limits?.includes(limit));
  return found && lacking(...found);
}

/** Throws for a setting whose feature the server was built without, and says how to get it. */
export function demandFeatures(env: object, features: ReadonlySet<string>): void {
  for (const [feature, optional] of Object.entries(known.optional)) {
    const name = optional.settings?.find((one) => Reflect.get(env, one) !== undefined);
    if (name === undefined || features.has(feature)) continue;
    throw new Error(`${name} is set, but ${lacking(feature, optional)}`);
  }
}

const lacking = (feature: string, { add }: Optional): string =>
  `this server was built without the feature ${feature}, which it needs. ${add}. Then deploy, or start npm run dev, again.`;
