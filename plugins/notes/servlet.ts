/** Keeps notes in its memory, which is another one for each caller: no file and no database. */
import { defineServlet, ToolError, type Context } from "edge-servlets/servlet";

const MOST_CHARACTERS = 10_000;
/** Characters of all notes of a caller, with so many for each besides its text. */
const ROOM = 1_000_000;
const FRAME = 100;
/** Of the title that lists show. */
const TITLE = 80;

interface Note {
  id: number;
  text: string;
  tags: string[];
  /** In ISO 8601. */
  changed: string;
}

const notes = new Map<number, Note>();
let newest = 0;

const ID = { type: "integer", minimum: 1, description: "The note's id" } as const;
const TEXT = { type: "string", minLength: 1, maxLength: MOST_CHARACTERS } as const;
const TAG = { type: "string", pattern: "^[^\\s,]{1,50}$" } as const;
const TAGS = { type: "array", items: TAG, maxItems: 20, uniqueItems: true } as const;
const COUNT = { type: "integer", minimum: 1, maximum: 100, description: "20 by default" } as const;

const NOTE = {
  type: "object",
  properties: {
    id: ID,
    text: { type: "string" },
    tags: { type: "array", items: { type: "string" } },
    changed: { type: "string", description: "When it was written or edited, in ISO 8601" },
  },
  required: ["id", "text", "tags", "changed"],
} as const;

const NOTES = {
  type: "object",
  properties: {
    notes: { type: "array", items: NOTE, description: "The newest first" },
    total: { type: "integer", description: "How many there are, with those not shown" },
  },
  required: ["notes", "total"],
} as const;

const titleOf = ({ text }: Note) => {
  const [first = ""] = text.trim().split("\n");
  return first.length > TITLE ? `${first.slice(0, TITLE)}…` : first;
};

const uriOf = ({ id }: Note) => `note://${id}`;

const tags = () => [...new Set([...notes.values()].flatMap((note) => note.tags))].toSorted();

/** Those with this tag, if one is given; the newest first. */
const notesWith = (tag?: string) =>
  [...notes.values()].filter((note) => tag === undefined || note.tags.includes(tag)).toReversed();

function noteOf(id: number): Note {
  const note = notes.get(id);
  if (note) return note;
  throw new ToolError(`There is no note ${id}. See list_notes.`);
}

const page = (found: Note[], limit = 20) => ({
  notes: found.slice(0, limit),
  total: found.length,
});

function put(note: Omit<Note, "changed">, context: Context): Note {
  const others = [...notes.values()].filter(({ id }) => id !== note.id);
  const taken = others.reduce((sum, { text }) => sum + text.length + FRAME, 0);
  if (taken + note.text.length + FRAME > ROOM)
    throw new ToolError("There is no room for more. Delete some notes.");
  const written = { ...note, changed: new Date().toISOString() };
  notes.set(note.id, written);
  context.notifyResourcesChanged();
  return written;
}

export default defineServlet({
  tools: {
    add_note: {
      title: "Add a note",
      description: "Keeps a text, to be found again in any later conversation.",
      input: {
        type: "object",
        properties: { text: TEXT, tags: TAGS },
        required: ["text"],
        additionalProperties: false,
      },
      output: NOTE,
      annotations: { destructiveHint: false, openWorldHint: false },
      handler: ({ text, tags = [] }, context) => {
        const note = put({ id: newest + 1, text, tags }, context);
        newest = note.id;
        return note;
      },
    },
    list_notes: {
      title: "List notes",
      description: "Lists the notes, or those with a tag, the newest first.",
      input: {
        type: "object",
        properties: { tag: TAG, limit: COUNT },
        additionalProperties: false,
      },
      output: NOTES,
      annotations: { readOnlyHint: true, openWorldHint: false },
      handler: ({ tag, limit }) => page(notesWith(tag), limit),
    },
    search_notes: {
      title: "Search notes",
      description:
        "Finds the notes that have all of these words in their text or tags, in any case.",
      input: {
        type: "object",
        properties: {
          query: { type: "string", minLength: 1, maxLength: 200, description: "Words" },
          tag: TAG,
          limit: COUNT,
        },
        required: ["query"],
        additionalProperties: false,
      },
      output: NOTES,
      annotations: { readOnlyHint: true, openWorldHint: false },
      handler({ query, tag, limit }) {
        const words = query.toLowerCase().split(/\s+/);
        const found = notesWith(tag).filter((note) => {
          const text = `${note.text}\n${note.tags.join(" ")}`.toLowerCase();
          return words.every((word) => text.includes(word));
        });
        return page(found, limit);
      },
    },
    edit_note: {
      title: "Edit a note",
      description: "Gives a note another text, other tags, or both.",
      input: {
        type: "object",
        properties: { id: ID, text: TEXT, tags: TAGS },
        required: ["id"],
        additionalProperties: false,
      },
      output: NOTE,
      annotations: { idempotentHint: true, openWorldHint: false },
      handler({ id, ...changes }, context) {
        const edited = put({ ...noteOf(id), ...changes }, context);
        context.notifyResourceUpdated(uriOf(edited));
        return edited;
      },
    },
    delete_note: {
      title: "Delete a note",
      description: "Deletes a note for good.",
      input: {
        type: "object",
        properties: { id: ID },
        required: ["id"],
        additionalProperties: false,
      },
      annotations: { openWorldHint: false },
      handler({ id }, context) {
        const note = noteOf(id);
        notes.delete(id);
        context.notifyResourcesChanged();
        return `Deleted: ${titleOf(note)}`;
      },
    },
  },
  resources: {
    "note://all": {
      name: "notes",
      title: "All notes",
      mimeType: "text/plain",
      read: () =>
        notesWith()
          .map((note) => `${uriOf(note)} ${titleOf(note)}`)
          .join("\n"),
    },
  },
  resourceTemplates: {
    "note://{id}": {
      name: "note",
      title: "A note",
      mimeType: "text/plain",
      // Where the manifest says `"lists": "dynamic"`.
      list: () =>
        notesWith().map((note) => ({
          uri: uriOf(note),
          name: titleOf(note),
          mimeType: "text/plain",
          ...(note.tags.length > 0 && { description: note.tags.join(", ") }),
        })),
      read: (_uri, { id }) => noteOf(Number(id)).text,
      complete: {
        id: (typed) => [...notes.keys()].map(String).filter((id) => id.startsWith(typed)),
      },
    },
  },
  prompts: {
    review_notes: {
      title: "Review notes",
      description:
        "Asks for a summary of the notes, or of those with a tag, and what is left to do.",
      arguments: {
        tag: { complete: (typed) => tags().filter((tag) => tag.startsWith(typed)) },
      },
      get({ tag }) {
        const texts = notesWith(tag)
          .slice(0, 100)
          .map((note) => `<note id="${note.id}" changed="${note.changed}">\n${note.text}\n</note>`);
        return `Summarise these notes, and list what they leave to be done:\n\n${texts.join("\n")}`;
      },
    },
  },
});
