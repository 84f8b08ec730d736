import { Fault } from "../errors.ts";
import { Wait, type Answers, type Ask, type Asker, type Asks, type Client } from "../model.ts";
import { demandCapabilities } from "./answers.ts";
import { refusal } from "./declined.ts";

/**
 * Clients that are asked by requests of the server: what they have not declared is refused for them, and
 * the call waits for the rest.
 */

/** The answers to what this client cannot be asked. */
export const refusals = (asks: Asks, client: Client): Answers =>
  Object.fromEntries(
    Object.entries(asks)
      .filter(([, ask]) => !takes(client, ask))
      .map(([key, ask]) => [key, refusal(ask)]),
  );

function takes(client: Client, ask: Ask): boolean {
  try {
    demandCapabilities({ ask }, client);
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

/** Interrupts the call, unless there is nothing that its client can be asked. */
export function willingAsker(client: Client): Asker {
  return async (asks) => {
    const given = refusals(asks, client);
    if (Object.keys(given).length === Object.keys(asks).length) return given;
    throw new Wait({ kind: "input", asks, given });
  };
}
