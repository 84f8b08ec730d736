import { prepare } from "../../worker/calls/client.ts";
import { prepareFaults } from "../../worker/calls/faults.ts";
import { watchSessions } from "../../worker/mcp/legacy/session-faults.ts";
import { testSessionDeaths } from "./sessions-faults-walk.ts";

/** Sessions and their tasks that die wherever something is awaited. */
prepare();
prepareFaults(watchSessions);
testSessionDeaths(1);
