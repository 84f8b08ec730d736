import { useState } from "hono/jsx/dom";
import { isObject, type Json } from "../../core/model.ts";
import { SchemaForm } from "./fields.tsx";
import type { PendingAsk } from "./mcp.ts";
import { cut, Text } from "./results.tsx";

/** A servlet's question, and the form to answer it. */
export const AskForm = ({
  id,
  asked,
  answer,
}: {
  id: string;
  asked: PendingAsk;
  answer(result: Json): void;
}) => {
  const [wrong, setWrong] = useState("");
  const { method, params } = asked;
  const { message, mode, url, requestedSchema, messages } = params;
  const isModel = method === "sampling/createMessage";
  const isPage = mode === "url";
  const schema = isModel
    ? { properties: { text: { type: "string", title: "Answer of the model", maxLength: 10_000 } } }
    : isObject(requestedSchema)
      ? requestedSchema
      : {};
  const take = (button: string, content: Json) => {
    if (button !== "accept") return answer({ action: button });
    if (!isModel) return answer({ action: "accept", ...(!isPage && { content }) });
    const text = { type: "text", text: typeof content["text"] === "string" ? content["text"] : "" };
    return answer({ role: "assistant", model: "you", content: text });
  };
  const link = isPage && URL.canParse(String(url)) ? new URL(String(url)) : undefined;
  return (
    <section class="notice" aria-label="A question">
      <h4>{isModel ? "A question for your model" : "A question for you"}</h4>
      <p class="text">{cut(typeof message === "string" ? message : "")}</p>
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
      {wrong !== "" && (
        <p role="alert" class="wrong">
          {wrong}
        </p>
      )}
      <SchemaForm
        id={id}
        schema={schema}
        buttons={
          isModel
            ? { accept: "Send this answer" }
            : {
                accept: isPage ? "I have opened the page" : "Send this answer",
                decline: "Decline",
                cancel: "Dismiss",
              }
        }
        onSubmit={take}
        onWrong={setWrong}
      />
    </section>
  );
};
