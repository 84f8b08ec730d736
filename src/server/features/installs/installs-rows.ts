import type { Build } from "./build.ts";

/** A version of an installed servlet, without its build. */
export interface InstalledVersion {
  version: number;
  hash: string;
  /** ISO 8601. */
  installed: string;
  /** The name of the operator who installed it. */
  by: string;
}

/** The tables of installed versions, published builds, and old builds that are still needed. */
export const TABLES = `
  CREATE TABLE IF NOT EXISTS versions (
    name TEXT, nr INTEGER, hash TEXT NOT NULL, build TEXT NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
    PRIMARY KEY (name, nr));
  CREATE TABLE IF NOT EXISTS served (name TEXT PRIMARY KEY, nr INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS retired (hash TEXT PRIMARY KEY, until INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS publications (
    name TEXT PRIMARY KEY, hash TEXT NOT NULL, digest TEXT NOT NULL, build TEXT NOT NULL, by TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS kept (name TEXT, state TEXT, PRIMARY KEY (name, state));
  CREATE TABLE IF NOT EXISTS waiting (task TEXT PRIMARY KEY, servlet TEXT NOT NULL, until INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL)`;

export interface VersionRow extends Record<string, SqlStorageValue> {
  name: string;
  nr: number;
  hash: string;
  build: string;
  at: number;
  by: string;
}

/** A build that agents may install by this name. */
export interface Published {
  name: string;
  hash: string;
  /** SHA-256 of the whole build with its manifest, in hex: the digest that an approval applies to. */
  digest: string;
  /** The name of the operator who published it. */
  by: string;
  /** True if this very build is served. */
  isServed: boolean;
}

/** Parses the build of a row. */
export const buildIn = ({ build }: Pick<VersionRow, "build">) => JSON.parse(build) as Build;

/** A row without its build, as operators see it. */
export const versionIn = ({ nr, hash, at, by }: VersionRow): InstalledVersion => ({
  version: nr,
  hash,
  installed: new Date(at).toISOString(),
  by,
});
