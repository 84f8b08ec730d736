import { settled, type Settled } from "../../kernel/core/settled.ts";
import { DurableObject } from "cloudflare:workers";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { canonicalJson, hexDigest } from "../../kernel/core/digest.ts";
import { publishToAll } from "../../kernel/calls/changes.ts";
import type { HubsEnv } from "../sessions/hub.ts";
import { KnownAnswer, originalOf } from "../../kernel/storage/copies.ts";
import { hasRow, firstRow } from "../../kernel/storage/tables.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { stringBytes } from "../../kernel/core/text.ts";
import type { Contributor } from "../../kernel/servlets/catalog.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import type { BundledServlets } from "../../kernel/servlets/bundle.ts";
import { RESERVED_NAMES } from "../../kernel/servlets/scopes.ts";
import { bucketOf, type BuildsEnv } from "./bucket.ts";
import { changedMeanwhile, digestsOf, nameTaken, type Build } from "./build.ts";
import { demandToolkit, refuseClashes } from "./servable.ts";
import { buildIn, type Published, TABLES, versionIn, type VersionRow } from "./installs-rows.ts";

/** Stored versions of an installed servlet, for rollbacks. */
const INSTALLED_VERSIONS = 10;
/** Maximum number of waiting tasks that one `replay` runs. */
export const REPLAYED_TASKS = 200;
/** How long a copy caches the original's answer. */
const COPY_MS = 1000;

/** The builds of all installed servlets; `generation` grows with each change. */
interface InstalledBuilds {
  generation: number;
  /** The builds as JSON. */
  builds: string[];
}

const FOR_THE_NAMES = "For the names: npm run servlets -- installed";

/** The bindings of the class below. */
export interface InstallsEnv extends BuildsEnv, HubsEnv {
  INSTALLS?: DurableObjectNamespace<Installs>;
}

/**
 * Stores the installed servlets of the whole server. A change is one transaction; all isolates serve it within
 * `limits.installsStaleMs`, and only then are clients notified. A daily sweep deletes builds that nothing needs.
 */
export class Installs extends DurableObject<InstallsEnv> {
  readonly #bundled: BundledServlets["servlets"];
  readonly #contributors: readonly Contributor[];
  readonly #sql: SqlStorage;
  readonly #alarm = new Alarm(this.ctx.storage);
  /** In a copy: what the original serves. */
  readonly #known: KnownAnswer<InstalledBuilds> | undefined;

  constructor(
    state: DurableObjectState,
    env: InstallsEnv,
    {
      bundle,
      deployment,
    }: { bundle: BundledServlets; deployment: Pick<Deployment, "contributors"> },
  ) {
    super(state, env);
    const original = originalOf(state.id.name);
    if (original !== undefined) {
      let builds: InstalledBuilds = { generation: -1, builds: [] };
      const ask = async () =>
        (builds = (await env.INSTALLS!.getByName(original).since(builds.generation)) ?? builds);
      this.#known = new KnownAnswer(ask, () => Math.min(COPY_MS, limits.installsMs));
    }
    this.#bundled = bundle.servlets;
    this.#contributors = deployment.contributors ?? [];
    this.#sql = state.storage.sql;
    this.#sql.exec(TABLES);
  }

  /** The installed builds; undefined if nothing has changed since this generation. */
  async since(generation: number): Promise<InstalledBuilds | undefined> {
    if (this.#known !== undefined) {
      const known = await this.#known.get();
      return known.generation === generation ? undefined : known;
    }
    if (generation < 0) await this.#planSweep();
    const now = this.#fact("generation");
    if (now === generation) return undefined;
    return { generation: now, builds: this.#served().map(({ build }) => build) };
  }

  /**
   * Serves a build as a new version; `isNew` is false if it is served already. Fails with `conflict` if the bundle has a
   * servlet of that name, if another servlet has one of its tools, prompts or resources, or beyond
   * `limits.installedServlets` or `limits.installedBytes`. Here and below, also if `seen` is not the served
   * version (0: none).
   */
  install(
    build: Build,
    by: string,
    seen?: number,
  ): Promise<Settled<{ version: number; isNew: boolean }>> {
    return settled(() => {
      const { name, hash } = build;
      const text = canonicalJson(build);
      const current = this.#servedOf(name);
      if (current?.build === text) return { version: current.nr, isNew: false };
      this.#demandSeen(name, seen);
      this.#demandPlace(build);
      this.#demandRoom(name, text);
      this.#refuseClashes(build);
      const version = 1 + (this.#versionsOf(name)[0]?.nr ?? 0);
      this.#change(() => {
        const row = [name, version, hash, text, Date.now(), by];
        this.#sql.exec("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)", ...row);
        this.#sql.exec("INSERT OR REPLACE INTO served VALUES (?, ?)", name, version);
        const { state = "call" } = build.manifest;
        if (state !== "call") {
          this.#sql.exec("INSERT OR IGNORE INTO kept VALUES (?, ?)", name, state);
        }
        const oldest = version - INSTALLED_VERSIONS;
        this.#sql.exec("DELETE FROM versions WHERE name = ? AND nr <= ?", name, oldest);
      });
      return { version, isNew: true };
    });
  }

  /** Publishes a build: agents may install it by its name. */
  async publish(build: Build, by: string): Promise<void> {
    const text = canonicalJson(build);
    const row = [build.name, build.hash, await hexDigest(text), text, by];
    this.#sql.exec("INSERT OR REPLACE INTO publications VALUES (?, ?, ?, ?, ?)", ...row);
  }

  /** Undoes `publish`. Fails with `invalid_request` if no build of that name is published. */
  unpublish(name: string): Promise<Settled<void>> {
    return settled(() => {
      const { rowsWritten } = this.#sql.exec("DELETE FROM publications WHERE name = ?", name);
      if (rowsWritten === 0) {
        throw new Fault(
          "invalid_request",
          `No build of ${name} is published, so nothing was changed.`,
        );
      }
    });
  }

  /** All published builds, by name. */
  async published(): Promise<Published[]> {
    return this.#sql
      .exec<{ name: string; hash: string; digest: string; by: string; served: number }>(
        `SELECT name, hash, digest, by, EXISTS (SELECT 1 FROM served JOIN versions USING (name, nr)
           WHERE versions.build = publications.build) AS served FROM publications ORDER BY name`,
      )
      .toArray()
      .map(({ served, ...one }) => ({ ...one, isServed: served === 1 }));
  }

  /** The published build of this name, as JSON, with its digest. */
  async publication(name: string): Promise<{ digest: string; build: string } | undefined> {
    const query = "SELECT digest, build FROM publications WHERE name = ?";
    return firstRow(this.#sql.exec<{ digest: string; build: string }>(query, name));
  }

  /** Serves a stored version again. Fails with `invalid_request` for an unknown version, or `conflict` as above. */
  rollBack(
    name: string,
    to: number,
    seen?: number,
  ): Promise<Settled<{ version: number; hash: string }>> {
    return settled(() => {
      const rows = this.#versionsOf(name);
      const found = rows.find(({ nr }) => nr === to);
      if (found === undefined) {
        const known = rows.map(({ nr }) => nr).join(", ");
        throw new Fault(
          "invalid_request",
          known === ""
            ? `No version of ${name} is kept: it is not installed. ${FOR_THE_NAMES}`
            : `There is no version ${to} of ${name}. Versions that are kept: ${known}.`,
        );
      }
      this.#demandSeen(name, seen);
      const build = buildIn(found);
      this.#demandPlace(build);
      this.#demandRoom(name, found.build);
      this.#refuseClashes(build);
      this.#change(() => {
        this.#sql.exec("INSERT OR REPLACE INTO served VALUES (?, ?)", name, found.nr);
      });
      return { version: found.nr, hash: found.hash };
    });
  }

  /** Removes all versions. Fails with `invalid_request` if no servlet of that name is installed. */
  uninstall(name: string, seen?: number): Promise<Settled<void>> {
    return settled(() => {
      if (!hasRow(this.#sql, "SELECT 1 FROM served WHERE name = ?", name)) {
        throw new Fault("invalid_request", `No servlet ${name} is installed. ${FOR_THE_NAMES}`);
      }
      this.#demandSeen(name, seen);
      this.#change(() => {
        this.#sql.exec("DELETE FROM served WHERE name = ?", name);
        this.#sql.exec("DELETE FROM versions WHERE name = ?", name);
      });
    });
  }

  /** The versions of a servlet with their builds as JSON, the newest first, and the number of the served version. */
  async versions(name: string) {
    const rows = this.#versionsOf(name);
    const current = this.#servedOf(name)?.nr ?? null;
    return { current, versions: rows.map((row) => ({ ...versionIn(row), build: row.build })) };
  }

  /** The served version of each installed servlet. */
  async list() {
    return this.#served().map((row) => {
      const tools = buildIn(row).lists?.tools.length ?? 0;
      return { name: row.name, ...versionIn(row), tools };
    });
  }

  /** The names of all servlets that were ever installed with state, and the scopes of that state. */
  async kept() {
    const query = "SELECT name, state FROM kept ORDER BY name";
    return this.#sql
      .exec<{ name: string; state: "session" | "caller" | "server" }>(query)
      .toArray();
  }

  /** Registers a waiting task by its id and its servlet's name until it expires (Unix ms). */
  async waits(task: string, servlet: string, until: number): Promise<void> {
    this.#sql.exec("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?)", task, servlet, until);
    this.#sql.exec("DELETE FROM waiting WHERE until < ?", Date.now());
    const excess = "SELECT task FROM waiting ORDER BY until DESC LIMIT -1 OFFSET ?";
    this.#sql.exec(`DELETE FROM waiting WHERE task IN (${excess})`, limits.waitingTasks);
  }

  /** The ids of a servlet's waiting tasks; some may have ended. */
  async waiting(servlet: string): Promise<string[]> {
    const query =
      "SELECT task FROM waiting WHERE servlet = ? AND until > ? ORDER BY until DESC LIMIT ?";
    const values = [servlet, Date.now(), REPLAYED_TASKS];
    return this.#sql
      .exec<{ task: string }>(query, ...values)
      .toArray()
      .map(({ task }) => task);
  }

  /** Keeps an old build for another `limits.oldBuildMs`, because a call has continued with it. */
  async needed(hash: string): Promise<void> {
    const until = Date.now() + limits.oldBuildMs;
    this.#sql.exec("INSERT OR REPLACE INTO retired VALUES (?, ?)", hash, until);
  }

  /** Changes the served builds, and notifies clients once every isolate knows. */
  #change(work: () => void): void {
    const announce = Date.now() + limits.installsStaleMs + COPY_MS;
    this.ctx.storage.transactionSync(() => {
      work();
      this.#setFact("generation", this.#fact("generation") + 1);
      this.#setFact("announce", announce);
    });
    void this.#alarm.set(announce);
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, (now) => this.#onAlarm(now));
  }

  async #onAlarm(now: number): Promise<void> {
    const announce = this.#fact("announce");
    if (announce > 0 && now >= announce) {
      await this.#announce();
      // A later change is announced by the next alarm.
      if (this.#fact("announce") === announce) this.#setFact("announce", 0);
    }
    if (now >= this.#fact("sweep")) {
      await this.#sweep(now).catch(report);
      this.#setFact("sweep", now + limits.sweepMs);
    }
    await this.#alarm.set(this.#fact("announce") || this.#fact("sweep"));
  }

  /** Notifies all clients that lists have changed. */
  async #announce(): Promise<void> {
    const changes = ["tools", "prompts", "resources"].map((list) => ({
      method: `notifications/${list}/list_changed`,
    }));
    await publishToAll(this.env, changes).catch(report);
  }

  /** Plans the first sweep. Without installs there are old builds, too: those of earlier deployments. */
  async #planSweep(): Promise<void> {
    if (await this.#alarm.isPlanned()) return;
    const sweep = Date.now() + limits.sweepMs;
    this.#setFact("sweep", sweep);
    await this.#alarm.set(this.#fact("announce") || sweep);
  }

  /** Deletes old builds that have expired, and parts that no build has. */
  async #sweep(now: number): Promise<void> {
    const bucket = bucketOf(this.env);
    if (bucket === undefined) return;
    // Builds with the same hash can have different initial files. Not all fit into memory at once.
    const kept = new Set<string>();
    const query = "SELECT build FROM versions UNION ALL SELECT build FROM publications";
    for (const row of this.#sql.exec<Pick<VersionRow, "build">>(query))
      for (const digest of digestsOf(buildIn(row))) kept.add(digest);
    for (const hash of await bucket.hashes()) {
      // Checked for each build, since others may be installed or published meanwhile.
      if (this.#isCurrent(hash)) {
        this.#sql.exec("DELETE FROM retired WHERE hash = ?", hash);
      } else if (this.#isExpired(hash, now)) {
        await bucket.deleteBuild(hash);
        this.#sql.exec("DELETE FROM retired WHERE hash = ?", hash);
        continue;
      }
      const build = await bucket.build(hash).catch(report);
      // A build that cannot be read may have any of the parts, so none may be deleted.
      if (build instanceof Fault) return;
      for (const digest of build ? digestsOf(build) : []) kept.add(digest);
    }
    await bucket.deletePartsBut(kept, now - limits.sweepMs);
  }

  #isCurrent(hash: string): boolean {
    const query = `SELECT 1 FROM versions WHERE hash = ?1 UNION SELECT 1 FROM publications WHERE hash = ?1`;
    return this.#bundled.some((one) => one.hash === hash) || hasRow(this.#sql, query, hash);
  }

  /** True if no call can still wait for this old build. Sets its expiry on the first check. */
  #isExpired(hash: string, now: number): boolean {
    const query = "SELECT until FROM retired WHERE hash = ?";
    const row = firstRow(this.#sql.exec<{ until: number }>(query, hash));
    if (row !== undefined) return now >= row.until;
    this.#sql.exec("INSERT INTO retired VALUES (?, ?)", hash, now + limits.oldBuildMs);
    return false;
  }

  #served(): VersionRow[] {
    const query = "SELECT versions.* FROM versions JOIN served USING (name, nr) ORDER BY name";
    return this.#sql.exec<VersionRow>(query).toArray();
  }

  #servedOf(name: string): VersionRow | undefined {
    return this.#served().find((row) => row.name === name);
  }

  /** Throws `conflict` for a name or toolkit of the bundle or the server itself. */
  #demandPlace(build: Build): void {
    const { name } = build;
    if (RESERVED_NAMES.has(name) || this.#bundled.some((one) => one.name === name))
      throw nameTaken(name);
    demandToolkit(build, this.#bundled);
  }

  /** Throws `conflict` if there is no room for this build (JSON) in place of the servlet's current one. */
  #demandRoom(name: string, build: string): void {
    const { installedServlets, installedBytes } = limits;
    const others = this.#served().filter((row) => row.name !== name);
    if (others.length >= installedServlets)
      throw new Fault(
        "conflict",
        `Too many installed servlets (limit ${installedServlets}). Uninstall one first.`,
      );
    const bytes = others.reduce((sum, row) => sum + stringBytes(row.build), stringBytes(build));
    if (bytes > installedBytes)
      throw new Fault(
        "conflict",
        `The manifests and lists of all installed servlets would have ${bytes} bytes together (limit ${installedBytes}). Uninstall one first.`,
      );
  }

  /** Throws `conflict` if the served version is not the one that the operator has seen. */
  #demandSeen(name: string, seen: number | undefined): void {
    const current = this.#servedOf(name)?.nr ?? 0;
    if (seen !== undefined && seen !== current) throw changedMeanwhile(name, current);
  }

  /** Checked here again: two operators may install clashing servlets at the same time. */
  #refuseClashes(build: Build): void {
    const names = new Set(this.#bundled.map(({ name }) => name));
    const others = this.#served().filter(({ name }) => !names.has(name));
    refuseClashes(build, {
      servlets: [...this.#bundled, ...others.map(buildIn)],
      contributors: this.#contributors,
    });
  }

  #versionsOf(name: string): VersionRow[] {
    const query = "SELECT * FROM versions WHERE name = ? ORDER BY nr DESC";
    return this.#sql.exec<VersionRow>(query, name).toArray();
  }

  #fact(name: string): number {
    const query = "SELECT value FROM facts WHERE name = ?";
    return firstRow(this.#sql.exec<{ value: number }>(query, name))?.value ?? 0;
  }

  #setFact(name: string, value: number): void {
    this.#sql.exec("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value);
  }
}
