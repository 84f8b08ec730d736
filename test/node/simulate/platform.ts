import { Reservation } from "../../../src/server/kernel/wasm/budget.ts";
import { LOST, transferred } from "./messages.ts";
import { SimulatedObject, type Class, type Faults } from "./object.ts";
import { newActor, type Actor, type Scheduler } from "./scheduler.ts";
import { stubOf } from "./stubs.ts";

const MINUTE = 60_000;

/**
 * The guests of objects that died keep their places until the clock says that they cannot wait any longer; here all
 * isolates are one, and each scene begins with the same clock. Nor does one object wake another.
 */
export const ROOM = {
  waitingBytes: Infinity,
  waitingBytesOfOne: Infinity,
  startsAtOnce: Infinity,
  // Those of an earlier scene would change how much fuel a call takes, and so whose turn it is.
  idleInstances: 0,
};

interface Server {
  fetch(request: Request): Promise<Response> | Response;
}

/** Objects, Workers and the messages between them. */
export class Platform {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly objects = new Map<string, SimulatedObject>();
  readonly env: Record<string, unknown>;
  #classes: Record<string, Class>;
  readonly #make: (env: object) => Record<string, Class>;
  /** Until faults stop. */
  isFaulty = true;
  injected = 0;
  /** Has time jumped ahead? */
  stoodStill = false;
  #isScarce = false;
  readonly #take = Reservation.take;
  readonly requests = new Set<Actor>();
  readonly #counts = new Map<string, number>();

  constructor(
    scheduler: Scheduler,
    faults: Faults,
    bindings: Record<string, string>,
    variables: object,
    make: (env: object) => Record<string, Class>,
  ) {
    this.scheduler = scheduler;
    this.faults = faults;
    this.#make = make;
    const namespaces = Object.entries(bindings).map(([binding, kind]) => [
      binding,
      this.#namespace(kind),
    ]);
    this.env = { ...variables, ...Object.fromEntries(namespaces) };
    this.#classes = make(this.env);
    scheduler.beforeEvent = (actor, what) => this.#injectFaults(actor, what);
    // By the guest, as one may need more room than another: a call may find room, and the call inside it none.
    Reservation.take = (...guest) =>
      this.#isScarce && scheduler.chance.of(0.5) ? undefined : this.#take(...guest);
  }

  classOf(kind: string): Class {
    return this.#classes[kind]!;
  }

  skew(): number {
    const { skewMs } = this.faults;
    return skewMs === 0 ? 0 : this.scheduler.chance.below(2 * skewMs + 1) - skewMs;
  }

  /** Does a fault of this likelihood happen now? */
  injects(likelihood: number, what: string): boolean {
    if (!this.isFaulty || this.injected >= this.faults.budget) return false;
    if (likelihood === 0 || !this.scheduler.chance.of(likelihood)) return false;
    this.injected++;
    this.scheduler.note(`FAULT ${what}`, "world");
    return true;
  }

  #injectFaults(actor: Actor | undefined, what: string): void {
    if (!this.isFaulty) return;
    const { faults, scheduler } = this;
    const { killAt } = faults;
    if (killAt?.event === scheduler.steps) this.#killAll(killAt.kind);
    const owner = this.ownerOf(actor);
    if (
      owner !== undefined &&
      this.injects(faults.deaths[owner.kind] ?? faults.death, `${actor!.name} dies before ${what}`)
    )
      owner.die();
    if (
      actor !== undefined &&
      this.requests.has(actor) &&
      this.injects(faults.requestDeath, `${actor.name} dies before ${what}`)
    ) {
      this.end(actor);
    }
    if (this.injects(faults.outage, "all objects die")) {
      for (const object of this.objects.values()) object.die();
      for (const request of this.requests) this.end(request);
      this.#classes = this.#make(this.env);
    }
    const idle = [...this.objects.values()].filter(
      (one) => one.isIdle && !scheduler.hasEvents(one.actor!),
    );
    if (idle.length > 0 && scheduler.chance.of(faults.eviction)) {
      const object = scheduler.chance.pick(idle);
      scheduler.note("is evicted", object.actor!.name);
      object.die(true);
    }
    if (this.injects(faults.jump, "nothing happens for a while")) {
      this.stoodStill = true;
      scheduler.now += 1000 * 10 ** scheduler.chance.below(5);
    }
    if (this.injects(faults.jumpBack, "the clocks are set back"))
      scheduler.backMs += scheduler.chance.pick([MINUTE, 60 * MINUTE, 14_400 * MINUTE]);
    if (!this.#isScarce && this.injects(faults.full, "room to wait in is scarce")) {
      this.#isScarce = true;
      const over = () => void (this.#isScarce = false);
      scheduler.after(scheduler.chance.below(60_000), "there is room again", () => undefined, over);
    }
  }

  #killAll(kind: string): void {
    this.injected++;
    this.scheduler.note(`FAULT all of ${kind} die`, "world");
    for (const object of this.objects.values()) if (object.kind === kind) object.die();
    if (kind === "Worker") for (const request of this.requests) this.end(request);
  }

  /** Ends an actor: its code runs on to where it learns of that, and can do nothing any more. */
  end(actor: Actor): void {
    if (!actor.isAlive) return;
    actor.isAlive = false;
    this.requests.delete(actor);
    const error = new Error("the actor has ended");
    this.scheduler.ended.push({
      actor,
      run: () => {
        for (const run of this.scheduler.takeTimers(actor)) run();
        for (const reject of actor.pending) reject(error);
        actor.pending.clear();
      },
    });
  }

  /** The object that this is the actor of. */
  ownerOf(actor: Actor | undefined): SimulatedObject | undefined {
    return actor && [...this.objects.values()].find((one) => one.actor === actor);
  }

  /** Lets something leave an actor: from an object, when all that it has written is confirmed. */
  readonly leave = (actor: Actor, go: () => void): void => {
    const owner = this.ownerOf(actor);
    if (owner === undefined) go();
    else owner.storage.leave(go);
  };

  object(kind: string, id: string, name?: string): SimulatedObject {
    let object = this.objects.get(`${kind} ${id}`);
    if (object === undefined) {
      const number = (this.#counts.get(kind) ?? 0) + 1;
      this.#counts.set(kind, number);
      object = new SimulatedObject(
        this,
        kind,
        id,
        `${kind}${name === undefined ? ` ${number}` : `(${name.slice(0, 24)})`}`,
        name,
      );
      this.objects.set(`${kind} ${id}`, object);
    }
    return object;
  }

  hex(bytes: number): string {
    const { chance } = this.scheduler;
    return Array.from({ length: bytes }, () =>
      chance.below(256).toString(16).padStart(2, "0"),
    ).join("");
  }

  #namespace(kind: string) {
    const idOf = (id: string, name?: string) => ({ toString: () => id, name });
    const get = (id: { toString(): string; name?: string }) =>
      stubOf(this, () => this.object(kind, String(id), id.name));
    return {
      newUniqueId: () => idOf(this.hex(32)),
      idFromString: (id: string) => {
        if (!/^[0-9a-f]{64}$/.test(id)) throw new TypeError("not an id");
        return idOf(id);
      },
      idFromName: (name: string) =>
        idOf(Buffer.from(name).toString("hex").padEnd(64, "0").slice(0, 64), name),
      get,
      getByName: (name: string) =>
        get(idOf(Buffer.from(name).toString("hex").padEnd(64, "0").slice(0, 64), name)),
    };
  }

  /**
   * A request of a client to the Worker, in an actor of its own; where `leavesMs` is given, its client leaves
   * after that. Rejects where it, or its response, is lost.
   */
  #request(
    server: Server,
    init: RequestInit,
    client: Actor,
    { leavesMs, path }: { leavesMs: number | undefined; path: string },
  ): Promise<Response> {
    const { scheduler } = this;
    return scheduler.eventually<Response>(client, (settle) => {
      let over = false;
      const fail = (why: string, ms?: number) => {
        if (over) return;
        over = true;
        settle(() => {
          throw new Error(why);
        }, ms);
      };
      if (this.injects(this.faults.loss, `a request of ${client.name} is lost`)) return fail(LOST);
      const actor = newActor(`request ${++this.#requestCount} of ${client.name}`, this.skew());
      const gone = new AbortController();
      const died = () => fail(LOST);
      this.requests.add(actor);
      actor.pending.add(died);
      if (leavesMs !== undefined) {
        scheduler.after(leavesMs, "the client leaves", client, () => {
          if (over) return;
          scheduler.note("does not wait any longer");
          fail("The client has left.", 0);
          scheduler.after(scheduler.latency(), "the client has left", actor, () => gone.abort());
        });
      }
      const body =
        init.body instanceof ReadableStream
          ? { body: transferred(init.body, client, actor, this) as ReadableStream, duplex: "half" }
          : {};
      scheduler.after(scheduler.latency(), "request", actor, () => {
        void (async () => {
          const request = new Request(`http://localhost:8787${path}`, {
            ...init,
            ...body,
            signal: gone.signal,
          });
          const response = await Promise.resolve(server.fetch(request)).catch((error: unknown) => {
            scheduler.note(`the Worker throws: ${String(error)}`);
            return new Response("", { status: 500 });
          });
          actor.pending.delete(died);
          // A promise that it shares with another request may have ended it first.
          if (!actor.isAlive) died();
          if (!actor.isAlive || over) return void response.body?.cancel().catch(() => {});
          if (this.injects(this.faults.loss, `the response to ${actor.name} is lost`))
            return fail(LOST);
          const answer = transferred(response, actor, client, this) as Response;
          over = true;
          settle(() => answer);
        })();
      });
    });
  }

  #requestCount = 0;

  /** The world as a client of this name sees it. */
  clientWorld(server: Server, name: string, address?: string) {
    const { scheduler } = this;
    const actor = newActor(name);
    return {
      actor,
      chance: scheduler.chance,
      host: "https://world.example",
      now: () => scheduler.now,
      /** The time by the clocks of the servers, in Unix ms: they may have been set back. */
      clock: () => scheduler.clock,
      sleep: (ms: number) => scheduler.sleep(ms, actor),
      request: (init: RequestInit, leavesMs?: number, path = "/mcp") => {
        const headers = new Headers(init.headers);
        if (address !== undefined) headers.set("cf-connecting-ip", address);
        return this.#request(server, { ...init, headers }, actor, { leavesMs, path });
      },
      note: (what: string) => scheduler.note(what, name),
    };
  }

  close(): void {
    Reservation.take = this.#take;
    for (const object of this.objects.values()) {
      object.die(true);
      object.storage.close();
    }
  }
}
