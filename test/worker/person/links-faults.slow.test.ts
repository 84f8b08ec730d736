import { prepare } from "../durable/client.ts";
import { prepareFaults } from "../durable/faults.ts";
import { watchSessions } from "../durable/session-faults.ts";
import { testLinkDeaths } from "./links-faults-walk.ts";

/** Calls that are handed over to a person, and whose objects die wherever something is awaited. */
prepare();
prepareFaults(watchSessions);
testLinkDeaths(1);
