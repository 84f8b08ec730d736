import { providersOf, type Provider } from "../../kernel/auth/account-provider.ts";
import { isLocal, originOf, withoutHeader } from "../../kernel/auth/origin.ts";
import { anonymousAt } from "../../kernel/auth/principal.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import type { Principal } from "../../kernel/core/model.ts";
import type { Feature, Kernel } from "../../kernel/kernel.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { askEndpoint } from "./ask-endpoint.ts";
import {
  callbackEndpoint,
  connectEndpoint,
  secretEndpoint,
  signInEndpoint,
} from "./credential-endpoint.ts";
import { failurePage } from "./errors.ts";
import { CLIENT_DOCUMENT_PATH, clientDocument } from "./issuer-client.ts";
import type { Paged } from "./view.ts";
import { CALLBACK_PATH, callbackPath } from "./provider-sign-in.ts";
import { ANSWER_SCRIPT_PATH, SIGN_IN_PATH, SIGN_OUT_PATH } from "./paths.ts";
import { People } from "./people.ts";
import { PersonObject } from "./person-object.ts";
import { PersonObjects } from "./person-objects.ts";
import { signedInEndpoint, signOutEndpoint } from "./view.ts";
import { runsOf, variablesOf } from "../../kernel/settings/env.ts";
import { tasksFeature } from "../tasks/feature.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** The script of the pages. */
    ASSETS?: Fetcher;
    /** Secrets and accounts of people, and the lists of their calls. */
    PROFILES?: DurableObjectNamespace<PersonObject>;
  }
}

declare module "../../kernel/kernel.ts" {
  interface Parts {
    /** Identifies people at pages. */
    people?: People;
    /** Answers a request as a page for the person who has sent it, within their rate limit. */
    paged?: Paged;
    /** The objects with each person's secrets, accounts and calls. */
    persons?: PersonObjects;
    /** The providers of accounts, by name; features add theirs when they start. */
    providers?: Map<string, Provider>;
  }
}

/** Pages on which people answer questions, enter secrets and connect accounts, and what is stored for them. */
export const peopleFeature: Feature = {
  name: "people",
  needs: [tasksFeature],
  start(kernel) {
    const { env, settings, sealer } = kernel;
    const isOn = settings.LINKS === "on";
    const providers = new Map(providersOf(settings, variablesOf(env)));
    const { PROFILES } = env;
    const persons =
      isOn && PROFILES && sealer ? new PersonObjects(PROFILES, sealer, providers) : undefined;
    if (isOn && providers.size > 0 && persons === undefined)
      throw new Error(
        "ACCOUNTS is set, and PROFILES or KEY_RING is not bound. Add the Durable Objects to wrangler.toml.",
      );
    const known =
      isOn && kernel.tasks && sealer ? new People(settings, env, { kernel, sealer }) : undefined;
    const paged = known && pagedBy(kernel, known, providers);
    return {
      parts: {
        ...(persons && { persons, providers }),
        ...(known && {
          people: known,
          pagesFor: (principal: Principal, raw: Request) => known.pagesFor(principal, raw),
        }),
        ...(paged && { paged }),
      },
      deployment: { secrets: persons, accounts: persons },
      forget: async (caller) => persons?.at(caller, async (object) => object.forgetAll(caller)),
      objects: {
        Profile: objectClassWith(() => {
          const { sealing } = kernel;
          const tasks = sealing.tasks && { tasks: sealing.tasks };
          const { memberRecord } = kernel;
          const member = memberRecord && { memberRecord };
          const isSelfHosted = runsOf(env) !== undefined;
          const client = { title: kernel.site.title, isSelfHosted };
          const clients = new PersonObjects(PROFILES!, sealing.sealer, providers);
          return { sealer: sealing.sealer, providers, clients, client, ...tasks, ...member };
        }, PersonObject),
      },
      failurePage: (raw, failure) => failurePage(kernel.site, raw, failure),
      routes(app) {
        if (paged === undefined) return;
        const methods = ["GET", "POST"];
        app.get(CLIENT_DOCUMENT_PATH, ({ req }) =>
          Response.json(clientDocument(originOf(req.raw), kernel.site.title)),
        );
        app.on(methods, "/ask/:id", ({ req }) =>
          paged(req.raw, (visited) => askEndpoint(req.raw, req.param("id"), visited)),
        );
        app.on(methods, "/secret/:token", ({ req }) =>
          paged(req.raw, (visited) => secretEndpoint(req.raw, req.param("token"), visited)),
        );
        app.on(methods, "/connect/:token", ({ req }) =>
          paged(req.raw, (visited) => connectEndpoint(req.raw, req.param("token"), visited)),
        );
        app.get("/account/sign-in", ({ req }) =>
          paged(req.raw, (visited) => signInEndpoint(req.raw, visited)),
        );
        app.on(methods, [CALLBACK_PATH, callbackPath(":provider")], ({ req }) =>
          paged(req.raw, (visited) => callbackEndpoint(req.raw, visited)),
        );
        app.on(methods, SIGN_IN_PATH, ({ req }) =>
          paged(req.raw, (visited) => signedInEndpoint(req.raw, visited)),
        );
        // Anybody may sign out, even while sign-ins cannot be checked.
        app.on(methods, SIGN_OUT_PATH, ({ req: { raw } }) =>
          paged(withoutHeader(raw, "cookie"), (visited) => signOutEndpoint(raw, visited)),
        );
      },
    };
  },
};

/** Answers as a page for a person. */
const pagedBy =
  (kernel: Kernel, known: People, providers: ReadonlyMap<string, Provider>): Paged =>
  async (raw, endpoint) => {
    const { env, site, rateLimiter, persons, usage } = kernel;
    const person = await known.of(raw);
    const key = callerKey(person?.principal ?? anonymousAt(raw));
    const admission = rateLimiter.enter(key, raw);
    const { quota } = admission;
    const { isOpen } = kernel.authenticator;
    const isOperator = isOpen ? isLocal(raw) : person !== undefined && known.isOperator(person);
    const tasksOf = (principal: Principal) =>
      kernel.tasks!({ ...principal, isAtPage: true, isOperator }, quota.countStored);
    const forgetCaller = (caller: string) => kernel.forgetCaller(caller);
    const own = { person, tasksOf, persons, providers, forgetCaller, usage };
    const page = { people: known, ...site, ...own, script: env.ASSETS && ANSWER_SCRIPT_PATH };
    return admission.until(endpoint({ ...page, admit: quota.admit }));
  };
