import { prepare } from "../../worker/calls/client.ts";
import { testDeaths } from "./faults-walk.ts";
import { prepareFaults } from "../../worker/calls/faults.ts";

/** Tasks whose objects die wherever something is awaited. */
prepare();
prepareFaults();
testDeaths(1);
