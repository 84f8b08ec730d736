import { prepare } from "../../worker/calls/client.ts";
import { testDeaths, testEvictions } from "./faults-walk.ts";
import { prepareFaults } from "../../worker/calls/faults.ts";

/** Tasks whose objects die at every third place where something is awaited, or are evicted. */
prepare();
prepareFaults();
testDeaths(3);
testEvictions();
