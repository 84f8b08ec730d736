import { defineServlet } from "edge-servlets/servlet";

/** The work that the bench compares with that in Python beside. */

const WORDS = /(\w+)@(\w+)\.(com|org|net)/gi;
const counted = {
  type: "object",
  properties: { count: { type: "integer" } },
  required: ["count"],
} as const;

export default defineServlet({
  tools: {
    ts_greet: {
      description: "Says hello.",
      input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      handler: ({ name }) => `Hello, ${name}`,
    },
    ts_json: {
      description: "Writes and reads JSON.",
      input: counted,
      handler({ count }) {
        const rows = Array.from({ length: count }, (_, i) => ({
          id: i,
          name: `row ${i}`,
          tags: ["a", "b", String(i)],
          value: i / 3,
        }));
        const read = JSON.parse(JSON.stringify(rows)) as typeof rows;
        return String(read.reduce((sum, { id }) => sum + id, 0));
      },
    },
    ts_regex: {
      description: "Finds addresses in a text.",
      input: counted,
      handler({ count }) {
        const lines = Array.from(
          { length: count },
          (_, i) => `word ${i} user${i}@host${i}.org and more`,
        );
        let sum = 0;
        for (const match of lines.join(" ").matchAll(WORDS)) sum += match[1]!.length;
        return String(sum);
      },
    },
    ts_sort: {
      description: "Sorts numbers and texts.",
      input: counted,
      handler({ count }) {
        let state = 1;
        const numbers: number[] = [];
        for (let nth = 0; nth < count; nth++) {
          state = (state * 48271) % 2147483647;
          numbers.push(state);
        }
        const texts = numbers.map(String).toSorted();
        numbers.sort((a, b) => a - b);
        return `${numbers[0]} ${texts[0]}`;
      },
    },
  },
});
