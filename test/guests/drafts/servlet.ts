import { readFile, rm, writeFile } from "edge-servlets/files";
import { defineServlet, runScript } from "edge-servlets/servlet";

const path = "/drafts/text";
const kept: string[] = [];

const TEXT = { type: "object", properties: { text: { type: "string" } } } as const;

export default defineServlet({
  tools: {
    write: {
      description: "Writes a file.",
      input: TEXT,
      handler: ({ text = "" }) => {
        writeFile(path, text);
        return String(text.length);
      },
    },
    read: { description: "Reads the file.", handler: () => String(readFile(path, "utf8").length) },
    remove: {
      description: "Removes the file.",
      handler: () => {
        rm(path, { force: true });
        return "removed";
      },
    },
    keep: {
      description: "Keeps a text in a variable, and says how many characters are kept.",
      input: TEXT,
      handler: ({ text = "" }) => {
        if (text !== "") kept.push(text);
        return String(kept.reduce((sum, { length }) => sum + length, 0));
      },
    },
    drop: {
      description: "Drops the texts that are kept.",
      handler: () => String(kept.splice(0).length),
    },
    knot: {
      description: "Makes so many objects that refer to each other, and keeps none.",
      handler: () => {
        for (let nth = 0; nth < 10_000; nth++) {
          const one: { other?: unknown } = {};
          one.other = { other: one };
        }
        return "knotted";
      },
    },
    check: {
      description: "Says whether each text that is kept is one character, over and over.",
      handler: () => String(kept.every((text) => text === text[0]!.repeat(text.length))),
    },
    churn: {
      description: "Keeps texts in a variable, and drops them.",
      handler: () => {
        for (let nth = 0; nth < 20; nth++) kept.push(String(nth).repeat(50_000));
        return String(kept.splice(0).length);
      },
    },
    recurse: {
      description: "Calls itself over and over.",
      handler: () => {
        const sum = (count: number): number => (count === 0 ? 0 : 1 + sum(count - 1));
        return String(sum(1000));
      },
    },
    reject: {
      description: "Leaves a promise that was rejected without a handler.",
      handler: () => {
        void Promise.reject(new Error("nobody waits for this"));
        return "rejected";
      },
    },
    syntax: {
      description: "Runs a script that is none.",
      handler: async () => {
        try {
          return String(await runScript("no script"));
        } catch {
          return "no script";
        }
      },
    },
    fail: {
      description: "Throws an error.",
      handler: () => {
        throw new Error("failed on purpose");
      },
    },
  },
});
