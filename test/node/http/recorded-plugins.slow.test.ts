import { testRecorded } from "./recorded-plugins.ts";

/** Recorded answers of plugins that keep memory and files, on one server. */
testRecorded("in one run", Infinity);
