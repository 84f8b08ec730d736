import { callHost } from "./host.ts";
import { notifyToolsChanged } from "./notices.ts";

/**
 * A script that a caller has saved under a name. With `listed`, it is a tool of the caller: a call of that is a call of the tool that
 * the manifest names as `snippets`, with `{name, arguments}`.
 *
 * @example
 * const all: SavedSnippet[] = await context.savedSnippets();
 * return all.map(({ name, description }) => `${name}: ${description}`).join("\n");
 */
export interface SavedSnippet {
  name: string;
  description: string;
  /** The JSON Schema of its arguments; any object if absent. */
  input?: object;
  listed?: boolean;
}

/**
 * Saves a script for the caller, in place of one with the same name. It is no part of the servlet's state: it lasts when that is
 * reset. `tool` is the name of the tool that it is if it is `listed`. Throws an `Error` that says what to change, or if the manifest
 * lacks `snippets`.
 */
export async function saveSnippet(
  snippet: SavedSnippet & { code: string },
): Promise<{ isNew: boolean; tool?: string }> {
  const { wasTool, ...saved } = (await callHost(
    "saveSnippet()",
    "snippets.save",
    snippet,
  )) as Answer & { isNew: boolean; tool?: string };
  if (wasTool || saved.tool !== undefined) notifyToolsChanged();
  return saved;
}

/** The scripts that the caller has saved, without their code. */
export const savedSnippets = async (): Promise<SavedSnippet[]> =>
  (await callHost("savedSnippets()", "snippets.list", {})) as SavedSnippet[];

/**
 * A script that the caller has saved; with arguments, these as its schema takes them. Throws an `Error` if there is none with this
 * name, or the arguments do not match its schema.
 */
export const savedSnippet = async (
  name: string,
  args?: object,
): Promise<SavedSnippet & { code: string; arguments?: object }> =>
  (await callHost("savedSnippet()", "snippets.get", {
    name,
    ...(args && { arguments: args }),
  })) as SavedSnippet & { code: string; arguments?: object };

/** Deletes a script of the caller. False if there is none with this name. */
export async function deleteSnippet(name: string): Promise<boolean> {
  const { existed, wasTool } = (await callHost("deleteSnippet()", "snippets.delete", {
    name,
  })) as Answer & { existed: boolean };
  if (wasTool) notifyToolsChanged();
  return existed;
}

interface Answer {
  /** True if it was a tool before. */
  wasTool: boolean;
}
