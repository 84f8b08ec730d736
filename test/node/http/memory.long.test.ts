import { SOME, testMemory } from "./memory.ts";

/** How much memory of the server one request may cost: some of each kind. The slow test has the others. */
testMemory(SOME);
