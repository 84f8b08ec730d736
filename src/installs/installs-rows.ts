import type { Build } from "./build.ts";
import type { InstalledVersion } from "./installs-object.ts";

/** The tables of installed versions, published builds, and old builds that are still needed. */
export const TABLES = `
  CREATE TABLE IF NOT EXISTS versions (
    name TEXT, nr INTEGER, hash TEXT NOT NULL, build TEXT NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
    PRIMARY KEY (name, nr));
  CREATE TABLE IF NOT EXISTS served (name TEXT PRIMARY KEY, nr INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS retired (hash TEXT PRIMARY KEY, until INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS published (name TEXT PRIMARY KEY, hash TEXT NOT NULL, by TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS kept (name TEXT, state TEXT, PRIMARY KEY (name, state));
  CREATE TABLE IF NOT EXISTS waiting (task TEXT PRIMARY KEY, servlet TEXT NOT NULL, until INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL)`;

/** A row of `versions`. */
export interface Row extends Record<string, SqlStorageValue> {
  name: string;
  nr: number;
  hash: string;
  build: string;
  at: number;
  by: string;
}

/** The build of a row, which has it as JSON. */
export const buildIn = ({ build }: Row) => JSON.parse(build) as Build;

/** A row without its build, in the form that operators see. */
export const versionIn = ({ nr, hash, at, by }: Row): InstalledVersion => ({
  version: nr,
  hash,
  installed: new Date(at).toISOString(),
  by,
});
