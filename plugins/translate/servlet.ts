/** Translates texts with DeepL. https://developers.deepl.com/api-reference/translate */
import { defineServlet, ToolError } from "edge-servlets/servlet";

/** Error messages by DeepL's HTTP status. */
const FAILURES: Record<number, string> = {
  400: "DeepL does not know one of the languages.",
  403: "DeepL does not know the API key.",
  429: "DeepL has had too many requests: try again in a moment.",
  456: "The API key's quota of this month is used up.",
};

/** The key of a caller, where the server has none of its own. */
const DEEPL_API_KEY = {
  name: "DEEPL_API_KEY",
  message: "Your API key of DeepL: see https://www.deepl.com/your-account/keys.",
};

const LANGUAGE = { type: "string", pattern: "^[A-Za-z]{2}(-[A-Za-z]{2,4})?$" } as const;

export default defineServlet({
  tools: {
    translate: {
      title: "Translate",
      description: "Translates a text with DeepL, and tells which language it was in.",
      input: {
        type: "object",
        properties: {
          text: {
            type: "string",
            minLength: 1,
            maxLength: 50_000,
            description: "What to translate",
          },
          to: { ...LANGUAGE, description: "The language to translate into, such as DE or EN-GB" },
          from: {
            ...LANGUAGE,
            description: "The text's language; found out where it is not given",
          },
        },
        required: ["text", "to"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          text: { type: "string", description: "The translation" },
          from: { type: "string", description: "The language that the text was in" },
        },
        required: ["text", "from"],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, openWorldHint: true },
      async handler({ text, to, from }, { config, askSecret, fetch }) {
        const key = config("DEEPL_API_KEY") || (await askSecret(DEEPL_API_KEY).catch(() => ""));
        if (!key) {
          throw new ToolError(
            "There is no API key of DeepL: give yours when it is asked for, or set the server's secret DEEPL_API_KEY.",
          );
        }
        // Keys of the free plan say so, and have a host of their own.
        const host = key.endsWith(":fx") ? "api-free.deepl.com" : "api.deepl.com";
        const response = await fetch(`https://${host}/v2/translate`, {
          method: "POST",
          headers: { authorization: `DeepL-Auth-Key ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ text: [text], target_lang: to, source_lang: from }),
        });
        if (!response.ok) {
          throw new ToolError(FAILURES[response.status] ?? `DeepL answered ${response.status}.`);
        }
        const { translations } = (await response.json()) as Answer;
        const [{ text: translated, detected_source_language }] = translations;
        return { text: translated, from: detected_source_language };
      },
    },
  },
});

interface Answer {
  translations: [{ text: string; detected_source_language: string }];
}
