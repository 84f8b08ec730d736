/** All servlets and all guests of the tests, served over real HTTP. */
import { env } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { bundle } from "../bundle.gen.ts";

export default createApp(bundle, env);
