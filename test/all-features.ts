import type { Feature } from "../src/server/kernel/kernel.ts";
import { bundle } from "./bundle.gen.ts";

/** Every feature: other bundles name those that their project needs. */
export const { features }: { features: readonly Feature[] } = bundle;
