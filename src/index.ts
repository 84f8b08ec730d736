import { env } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { bundle } from "./bundle.gen.ts";

export default createApp(bundle, env);
