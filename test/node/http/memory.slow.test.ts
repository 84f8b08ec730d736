import { OTHERS, testMemory } from "./memory.ts";

/** How much memory of the server one request may cost, in all further ways. */
testMemory(OTHERS);
