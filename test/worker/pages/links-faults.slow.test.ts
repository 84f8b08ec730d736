import { prepare } from "../calls/client.ts";
import { prepareFaults } from "../calls/faults.ts";
import { watchSessions } from "../mcp/legacy/session-faults.ts";
import { testLinkDeaths } from "./links-faults-walk.ts";

/** Calls that are handed over to a person, and whose objects die wherever something is awaited. */
prepare();
prepareFaults(watchSessions);
testLinkDeaths(1);
