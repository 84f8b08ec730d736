/** Facts about all features, including those that the server was built without; the bundle step provides them. */

/** How to add a feature, and what only a server with it can set: settings, and limits of `LIMITS`. */
export interface Optional {
  readonly add: string;
  readonly settings?: readonly string[];
  readonly limits?: readonly string[];
}

/** Bindings, and what is off without any of them. */
export interface Lack {
  readonly bindings: readonly string[];
  /** A noun, such as "counters and errors". */
  readonly off: string;
}

export interface KnownFeatures {
  /** The names of the features' bindings. */
  readonly bindings: readonly string[];
  /** What is off without the features' bindings. */
  readonly off?: readonly Lack[];
  /** The names of the features' settings. */
  readonly settings: readonly string[];
  /** The features that can be left out, by name. */
  readonly optional: Readonly<Record<string, Optional>>;
}

export let known: KnownFeatures = { bindings: [], settings: [], optional: {} };

/** Sets `known`: a Worker from its bundle, tools when `src/tools/bundle/features.ts` is loaded. */
export function knowFeatures(all: KnownFeatures): void {
  known = all;
}

/** Why a limit is unknown without its feature, and how to add the feature; undefined if no feature has the limit. */
export function whyNoLimit(limit: string): string | undefined {
  const found = Object.entries(known.optional).find(([, { limits }]) => limits?.includes(limit));
  return found && lacking(...found);
}

/** Throws for a setting of a feature that the server was built without, and says how to add the feature. */
export function demandFeatures(env: object, features: ReadonlySet<string>): void {
  for (const [feature, optional] of Object.entries(known.optional)) {
    const name = optional.settings?.find((one) => Reflect.get(env, one) !== undefined);
    if (name === undefined || features.has(feature)) continue;
    throw new Error(`${name} is set, but ${lacking(feature, optional)}`);
  }
}

const lacking = (feature: string, { add }: Optional): string =>
  `this server was built without the feature ${feature}, which it needs. ${add}. Then deploy, or start npm run dev, again.`;
