import { prepare } from "../../calls/client.ts";
import { prepareFaults } from "../../calls/faults.ts";
import { watchSessions } from "./session-faults.ts";
import { testSessionDeaths } from "./sessions-faults-walk.ts";

/** Sessions and their tasks that die wherever something is awaited. */
prepare();
prepareFaults(watchSessions);
testSessionDeaths(1);
