import { useEffect, useRef } from "hono/jsx/dom";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { SchemaForm } from "./fields.tsx";
import type { PendingAsk } from "./mcp.ts";
import { cut, Text } from "./results.tsx";

const MODEL_SCHEMA = {
  properties: { text: { type: "string", title: "Answer of the model", maxLength: 10_000 } },
};

/** A question from a servlet, and the form that answers it. */
export const AskForm = ({
  id,
  asked,
  answer,
}: {
  id: string;
  asked: PendingAsk;
  answer(result: Json): void;
}) => {
  const { method, params } = asked;
  const { message, mode, url, requestedSchema, messages } = params;
  const isModel = method === "sampling/createMessage";
  const isPage = mode === "url";
  const schema = isModel ? MODEL_SCHEMA : isObject(requestedSchema) ? requestedSchema : NOTHING;
  const take = (button: string, content: Json) => {
    if (button !== "accept") return answer({ action: button });
    if (!isModel) return answer({ action: "accept", ...(!isPage && { content }) });
    const text = { type: "text", text: typeof content["text"] === "string" ? content["text"] : "" };
    return answer({ role: "assistant", model: "you", content: text });
  };
  const link = isPage && URL.canParse(String(url)) ? new URL(String(url)) : undefined;
  const accept = isPage ? "I have opened the page" : "Send this answer";
  const section = useRef<HTMLElement | null>(null);
  useEffect(() => {
    if (section.current) bringForward(section.current);
  }, []);
  return (
    <section class="notice ask" aria-label="A question" tabIndex={-1} ref={section}>
      <h2>{isModel ? "A question for your model" : "A question for you"}</h2>
      <p class="said">{cut(typeof message === "string" ? message : "")}</p>
      {isModel && <Text text={JSON.stringify(messages, null, 2)} />}
      {link !== undefined && /^https?:$/.test(link.protocol) && (
        <p>
          Open{" "}
          <a href={link.href} target="_blank" rel="noreferrer noopener">
            a page at {link.host}
          </a>
          .
        </p>
      )}
      <SchemaForm
        id={id}
        schema={schema}
        buttons={isModel ? { accept } : { accept, decline: "Decline", cancel: "Dismiss" }}
        onSubmit={take}
      />
      <ul class="dim small">
        <li>
          <strong>{accept}</strong>:{" "}
          {isModel
            ? "the tool takes this as the answer of a model."
            : isPage
              ? "the tool goes on once the page has reported back."
              : "the tool goes on with what you entered."}
        </li>
        {!isModel && (
          <>
            <li>
              <strong>Decline</strong>: you say no, and the tool knows that.
            </li>
            <li>
              <strong>Dismiss</strong>: you leave the question open. The tool goes on without an
              answer, or ends.
            </li>
          </>
        )}
      </ul>
    </section>
  );
};

const NOTHING: Json = {};

/** Scrolls to a new question and focuses it, unless the user is answering another question. */
export function bringForward(question: HTMLElement): void {
  if (document.activeElement?.closest('[aria-label="A question"]')) return;
  question.focus({ preventScroll: true });
  const { top, bottom } = question.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) question.scrollIntoView({ block: "start" });
}
