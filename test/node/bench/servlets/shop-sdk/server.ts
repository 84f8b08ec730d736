/** The shop as Node would run it by stdio: a server of the official SDK, with nothing of this project. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { newServer } from "../../shop/sdk-server.ts";
import { redisAt } from "../../shop/tools.ts";

const { API: api = "", REDIS: redis = "" } = process.env;
await newServer({ api, redis: redisAt(redis) }).connect(new StdioServerTransport());
