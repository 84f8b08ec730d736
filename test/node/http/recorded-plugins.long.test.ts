import { testRecorded } from "./recorded-plugins.ts";

/** Recorded answers of plugins that keep memory and files, on servers that are killed. The slow test has one that lives. */
testRecorded("with the server killed after every 20 calls", 20);
