/** The kernel alone, without features and bindings: what of the official suite it passes. */
import { createWorker } from "../../src/server/worker.ts";
import { bundle } from "./bundle.gen.ts";

export default createWorker({ ...bundle, features: [] }).worker;
