/** The command `npm run deploy -- [ARGUMENT…]`. */
import { deploy } from "./deployment.ts";

process.exitCode = await deploy(process.argv.slice(2));
