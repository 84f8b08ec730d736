/** Asks and tells by way of the context. */
import { AskError, defineServlet } from "edge-servlets/servlet";
import * as z from "zod/mini";

const Form = z.object({ size: z.enum(["s", "m"]), count: z._default(z.number(), 3) });

export default defineServlet({
  tools: {
    elicit: {
      description: "Asks with a form",
      async handler(_args, { elicit }) {
        const { action, content } = await elicit({ message: "Size?", schema: Form, timeout: 5000 });
        if (action !== "accept") return { action, content };
        const exact: ["s" | "m", number] = [content.size, content.count];
        // @ts-expect-error: count is a number.
        const wrong: string = content.count;
        return { exact, wrong };
      },
    },
    elicit_raw: {
      async handler(_args, { elicit }) {
        const { action, content } = await elicit({
          message: "Really?",
          schema: { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] },
        });
        const sure: boolean | undefined = content?.sure;
        return { action, sure };
      },
    },
    elicit_unfit: {
      handler: (_args, { elicit }) => elicit({ message: "What?", schema: z.string() }),
    },
    elicit_url: {
      handler: (_args, { elicitUrl }) =>
        elicitUrl({
          message: "Pay",
          url: { toString: () => "https://pay.example/a" },
          elicitationId: "e1",
        }),
    },
    sample: {
      async handler(_args, { sample }) {
        const { content, model } = await sample({
          messages: [{ role: "user", content: { type: "text", text: "Hi" } }],
          maxTokens: 10,
          systemPrompt: "Be brief.",
        });
        return [content, `by ${model}`];
      },
    },
    roots: {
      async handler(_args, { roots }) {
        const found = await roots();
        return found.map(({ uri, name }) => `${uri} ${name}`).join();
      },
    },
    request_input: {
      async handler(_args, { requestInput }) {
        const { where, size } = await requestInput({
          where: { method: "roots/list" },
          size: { method: "elicitation/create", params: { message: "Size?" } },
        });
        return { where, size };
      },
    },
    handle: {
      async handler(_args, { requestInput }) {
        const requests = {
          where: { method: "roots/list" },
          size: { method: "elicitation/create", params: { message: "Size?" } },
        } as const;
        try {
          return await requestInput(requests);
        } catch (error) {
          if (!(error instanceof AskError)) throw error;
          const { reason, method, message, answers } = error;
          return { reason, method, message, answers };
        }
      },
    },
    reason_of_elicit: {
      handler: (_args, { elicit }) =>
        elicit({ message: "Size?", schema: Form }).then(
          ({ action }) => action,
          (error: unknown) => (error instanceof AskError ? error.reason : String(error)),
        ),
    },
    return_request: {
      handler(_args, { inputResponses }) {
        if (inputResponses) return JSON.stringify(inputResponses);
        const params = { message: "Size?" };
        const size = { method: "elicitation/create" as const, params };
        return { resultType: "input_required" as const, inputRequests: { size } };
      },
    },
    ask_twice: {
      async handler(_args, { elicit }) {
        const schema = { type: "object" } as const;
        const first = await elicit({ message: "1", schema });
        const second = await elicit({ message: "2", schema });
        return `${first.action} ${second.action}`;
      },
    },

    tell: {
      handler(_args, context) {
        context.progress(1, 2, "half");
        context.progress(2);
        context.log("warning", { a: 1 }, "me");
        context.log("info", "text");
        context.notifyToolsChanged();
        context.notifyPromptsChanged();
        context.notifyResourcesChanged();
        context.notifyResourceUpdated("x:y");
        context.notifyElicitationComplete("e1");
        return null;
      },
    },
    read: {
      handler({ key }, { config }) {
        return { value: config(String(key)) ?? "none" };
      },
    },
    secrets: {
      handler: (_args, { secret }) => ({
        allowed: secret("bank", "me") ?? "none",
        named: secret("shop", "me") ?? "none",
        unset: secret("bank", "you") ?? "none",
        forbidden: secret("bank", "other") ?? "none",
      }),
    },
    given: {
      handler: (_args, { id, meta, client, signal, inputResponses, requestState }) => {
        signal.addEventListener("abort", () => {});
        signal.throwIfAborted();
        const rounds = inputResponses === undefined && requestState === undefined;
        return { id, meta, client, aborted: signal.aborted, first: rounds };
      },
    },
    sleep: {
      async handler(_args, { sleep }) {
        const before = Date.now();
        await Promise.all([sleep(1000), sleep(86_400_000), sleep(2 ** 33), sleep(-1)]);
        return { before, slept: Date.now() - before };
      },
    },
  },
});
