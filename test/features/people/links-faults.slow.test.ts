import { prepare } from "../../worker/calls/client.ts";
import { prepareFaults } from "../../worker/calls/faults.ts";
import { watchSessions } from "../../worker/mcp/legacy/session-faults.ts";
import { testLinkDeaths } from "./links-faults-walk.ts";

/** Calls that are handed over to a person, and whose objects die wherever something is awaited. */
prepare();
prepareFaults(watchSessions);
testLinkDeaths(1);
