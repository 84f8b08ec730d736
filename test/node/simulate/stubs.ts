import { Line, LOST, streamed, transferred } from "./messages.ts";
import type { SimulatedObject } from "./object.ts";
import type { Actor, Scheduler } from "./scheduler.ts";
import { RpcTarget } from "./workers.ts";

/** Carries messages, and loses some. */
interface Network {
  readonly scheduler: Scheduler;
  readonly faults: { loss: number };
  /** Does a fault of this likelihood happen now? */
  injects(likelihood: number, what: string): boolean;
  /** Lets something leave an actor: from an object, when all that it has written is confirmed. */
  leave(actor: Actor, go: () => void): void;
}

/** The connection of a call and of the targets that it was given: it breaks as a whole. */
class Connection {
  /** By request in progress, the function to be called when the connection breaks. */
  readonly underWay = new Set<(error: Error) => void>();
  isBroken = false;

  break(): void {
    this.isBroken = true;
    for (const died of Array.from(this.underWay)) died(new Error(LOST));
  }
}

/** Calls of one stub arrive in their order; one whose object has died is of no more use. */
export function stubOf(network: Network, target: () => SimulatedObject): object {
  const { scheduler, faults } = network;
  let broken: Error | undefined;
  const line = new Line(scheduler, () => target().actor);
  const call = (method: string, given: unknown[]): Promise<unknown> => {
    const caller = scheduler.current!;
    const object = target();
    const connection = new Connection();
    const destination = { scheduler, line, to: () => object.actor };
    const args = given.map((one) => {
      if (one instanceof ReadableStream) return streamed(one, caller, destination);
      if (one instanceof RpcTarget) return remote(network, one, caller, connection);
      return structuredClone(one);
    });
    return scheduler.eventually(caller, (settle) => {
      const fail = (error: Error) => {
        broken ??= error;
        settle(() => {
          throw error;
        });
      };
      if (broken !== undefined) return fail(broken);
      network.leave(caller, () => {
        if (network.injects(faults.loss, `${caller.name} to ${object.name}.${method}() is lost`)) {
          return fail(new Error(LOST));
        }
        let over = false;
        const died = (error: Error) => {
          if (!over) fail(error);
          over = true;
        };
        object.calls.add(died);
        connection.underWay.add(died);
        line.send(`${method}() to ${object.name}`, () => {
          if (over) return;
          void object.invoke(method, args, (how, callee) => {
            object.calls.delete(died);
            connection.underWay.delete(died);
            if (over) return;
            over = true;
            if (network.injects(faults.loss, `the reply of ${object.name}.${method}() is lost`)) {
              return fail(new Error(LOST));
            }
            let result: unknown;
            try {
              result = transferred(how(), callee, caller, network);
            } catch (error) {
              const copy = new Error(error instanceof Error ? error.message : String(error));
              return settle(() => {
                throw copy;
              });
            }
            settle(() => result);
          });
        });
      });
    });
  };
  return callable(call);
}

/** Stands for a target that lives in another actor: each call of it is a message and a reply. */
function remote(network: Network, target: RpcTarget, owner: Actor, connection: Connection): object {
  const { scheduler, faults } = network;
  const line = new Line(scheduler, () => owner);
  const methods = target as unknown as Record<string, (...args: unknown[]) => unknown>;
  const call = (method: string, given: unknown[]): Promise<unknown> => {
    const caller = scheduler.current!;
    const args = structuredClone(given);
    return scheduler.eventually(caller, (settle) => {
      let over = false;
      const end = (how: () => unknown) => {
        if (over) return;
        over = true;
        owner.pending.delete(died);
        connection.underWay.delete(died);
        settle(how);
      };
      const fail = (why: string) =>
        end(() => {
          throw new Error(why);
        });
      const died = () => fail(LOST);
      if (!owner.isAlive || connection.isBroken) return fail(LOST);
      owner.pending.add(died);
      connection.underWay.add(died);
      const { loss } = faults;
      network.leave(caller, () => {
        if (network.injects(loss, `${caller.name} to ${owner.name}.${method}() is lost`))
          return connection.break();
        line.send(`${method}() to ${owner.name}`, () => {
          if (over) return;
          void Promise.resolve(methods[method]!(...args)).then(
            (value) =>
              network.leave(owner, () => {
                if (network.injects(loss, `the reply of ${owner.name}.${method}() is lost`))
                  return connection.break();
                end(() => structuredClone(value));
              }),
            (error: unknown) => fail(String(error)),
          );
        });
      });
    });
  };
  return callable(call);
}

/** An object that has every method. */
const callable = (call: (method: string, given: unknown[]) => Promise<unknown>): object =>
  new Proxy(
    {},
    {
      get: (_target, method) =>
        method === "then" || typeof method === "symbol"
          ? undefined
          : (...args: unknown[]) => call(method, args),
    },
  );
