import { prepare } from "./client.ts";
import { testDeaths } from "./faults-walk.ts";
import { prepareFaults } from "./faults.ts";

/** Tasks whose objects die wherever something is awaited. */
prepare();
prepareFaults();
testDeaths(1);
