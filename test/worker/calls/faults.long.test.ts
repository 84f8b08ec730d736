import { prepare } from "./client.ts";
import { testDeaths, testEvictions } from "./faults-walk.ts";
import { prepareFaults } from "./faults.ts";

/** Tasks whose objects die at every third place where something is awaited, or are evicted. */
prepare();
prepareFaults();
testDeaths(3);
testEvictions();
