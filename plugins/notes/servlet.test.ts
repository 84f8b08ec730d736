import { loadServlet, type Script, type ServletUnderTest } from "edge-servlets/testing";
import { beforeEach, expect, test } from "vitest";

let notes: ServletUnderTest;
beforeEach(async () => {
  notes = await loadServlet(import.meta.dirname);
});

async function call(name: string, args = {}, script: Script = {}) {
  const { result, notifications } = await notes.callTool(name, args, script);
  const [block] = result.content;
  const text = block?.type === "text" ? block.text : "";
  const told = notifications.map(({ method, params }) =>
    `${method} ${params?.["uri"] ?? ""}`.trim(),
  );
  const value = result.structuredContent as { id: number; notes: { id: number }[] };
  return { text, told, isError: result.isError === true, value };
}

const idsOf = async (name: string, args = {}, script?: Script) =>
  (await call(name, args, script)).value.notes.map(({ id }) => id);

test("keeps notes for each caller, the newest first", async () => {
  const now = Date.UTC(2026, 10, 22);
  const { value } = await call("add_note", { text: "Buy milk", tags: ["home"] }, { now });
  expect(value).toEqual({
    id: 1,
    text: "Buy milk",
    tags: ["home"],
    changed: "2026-11-22T00:00:00.000Z",
  });
  await call("add_note", { text: "Call Bob" });
  expect(await idsOf("list_notes")).toEqual([2, 1]);
  expect(await idsOf("list_notes", { tag: "home" })).toEqual([1]);
  expect(await idsOf("list_notes", { limit: 1 })).toEqual([2]);
  expect(await idsOf("list_notes", {}, { caller: "ada" })).toEqual([]);
});

test("finds words in texts and tags, in any case", async () => {
  await call("add_note", { text: "Äpfel und Birnen", tags: ["Garten"] });
  await call("add_note", { text: "Birnbaum" });
  expect(await idsOf("search_notes", { query: "BIRN" })).toEqual([2, 1]);
  expect(await idsOf("search_notes", { query: "äpfel garten" })).toEqual([1]);
  expect(await idsOf("search_notes", { query: "birn", tag: "Garten" })).toEqual([1]);
  expect(await idsOf("search_notes", { query: "quince" })).toEqual([]);
});

test("edits and deletes, and says so to those who listen", async () => {
  expect((await call("add_note", { text: "One", tags: ["a"] })).told).toEqual([
    "notifications/resources/list_changed",
  ]);
  const edited = await call("edit_note", { id: 1, text: "Two" });
  expect(edited.value).toMatchObject({ text: "Two", tags: ["a"] });
  expect(edited.told).toContain("notifications/resources/updated note://1");
  expect((await call("edit_note", { id: 1, tags: [] })).value).toMatchObject({
    text: "Two",
    tags: [],
  });
  expect((await call("delete_note", { id: 1 })).text).toBe("Deleted: Two");
  expect(await call("delete_note", { id: 1 })).toMatchObject({
    isError: true,
    text: "There is no note 1. See list_notes.",
  });
  expect((await call("add_note", { text: "Three" })).value.id).toBe(2);
});

test("are resources, with completion", async () => {
  await call("add_note", { text: "# Title\n\nMore", tags: ["a", "b"] });
  const { resources, resourceTemplates } = await notes.list();
  expect(resourceTemplates).toMatchObject([{ uriTemplate: "note://{id}" }]);
  expect(resources).toEqual([
    { uri: "note://all", name: "notes", title: "All notes", mimeType: "text/plain" },
    { uri: "note://1", name: "# Title", mimeType: "text/plain", description: "a, b" },
  ]);
  const all = await notes.readResource("note://all");
  expect(all.result.contents).toMatchObject([{ text: "note://1 # Title" }]);
  const { result } = await notes.readResource("note://1");
  expect(result.contents).toEqual([
    { uri: "note://1", mimeType: "text/plain", text: "# Title\n\nMore" },
  ]);
  const completed = await notes.complete({
    ref: { type: "ref/resource", uri: "note://{id}" },
    argument: { name: "id", value: "" },
  });
  expect(completed.result.completion.values).toEqual(["1"]);
});

test("the prompt has the notes with the tag", async () => {
  await call("add_note", { text: "Water plants", tags: ["home"] });
  await call("add_note", { text: "Write report" });
  const { result } = await notes.getPrompt("review_notes", { tag: "home" });
  const text = JSON.stringify(result.messages);
  expect(text).toContain("Water plants");
  expect(text).not.toContain("Write report");
});

test("has room for a million characters", async () => {
  const text = "x".repeat(10_000);
  for (let nth = 0; nth < 99; nth++) await call("add_note", { text });
  const full = { isError: true, text: "There is no room for more. Delete some notes." };
  expect(await call("add_note", { text })).toMatchObject(full);
  await call("edit_note", { id: 1, text: "short" });
  expect((await call("add_note", { text: "x".repeat(9_000) })).value.id).toBe(100);
  expect(await call("edit_note", { id: 1, text })).toMatchObject(full);
});
