import { env } from "cloudflare:workers";
import { serverOf } from "../auth/key-holders.ts";
import { as, callOf, type Json } from "../calls/client.ts";
import { steps } from "../calls/plans.ts";
import { browser, type Server } from "./browser.ts";

/** Steps of tests about the secrets of callers. */

export const ASK = { do: "ask_secret", name: "deepl", message: "Your key of DeepL" };
export const KEPT = { do: "kept", name: "deepl" };
export const accountOf = (who: string) => env.PROFILES!.getByName(who);

let people = 0;

/** Callers whom no other test knows, on a server of their own. */
export async function callers(prefix = "") {
  const [ada, eve] = [`${prefix}ada${++people}`, `${prefix}eve${people}`];
  const at = await serverOf({ [ada]: {}, [eve]: {} }, {});
  const plan = (all: Json[], who = ada, capabilities: Json = {}) =>
    callOf("plan", steps(...all), { server: at, capabilities, ...as(who) });
  const result = (id: string, who = ada) =>
    callOf("get_result", { id }, { server: at, capabilities: {}, ...as(who) });
  return { ada, eve, at, plan, result };
}

/** A browser of somebody who has signed in. */
export async function signedIn(at: Server, who: string) {
  const person = browser(at);
  await person.send("/sign-in", { credential: who });
  return person;
}

/** Opens the page of a call, and enters a secret on the page to which it leads. */
export async function enter(person: ReturnType<typeof browser>, url: string, secret: string) {
  const page = await person.fetch(url);
  const at = page.response.headers.get("location") ?? url;
  const { hidden } = await person.fetch(at);
  return person.send(at, { ...hidden, secret, decision: "accept" });
}
