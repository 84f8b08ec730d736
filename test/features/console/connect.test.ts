import { describe, expect, test } from "vitest";
import { clientsSection, type Endpoint } from "../../../src/server/features/console/connect.ts";
import { KEY } from "../../../src/server/features/console/programs.ts";

/** Which clients are offered where, and what they are given. */

const REMOTE = "https://tools.example/mcp";

async function sectionOf(endpoint: Partial<Endpoint> = {}) {
  const whole = { url: REMOTE, name: "tools", isKeyed: false, hasSignIn: false, ...endpoint };
  const text = String(await clientsSection(whole));
  const clients = text.split('data-client="').slice(1);
  const named = clients.map((one) => one.slice(0, one.indexOf('"')));
  const far = clients.filter((one) => one.includes("not available here"));
  return { text, named, far };
}

describe("clients", () => {
  test("that call from the internet come first for a server there", async () => {
    const { named, far } = await sectionOf();
    expect(named.slice(0, 3)).toEqual(["Claude", "Claude Code", "Cursor"]);
    expect(far).toEqual([]);
  });

  test.each([
    ["http://localhost:8787/mcp", "a server on your machine"],
    ["http://192.168.1.4:8787/mcp", "a server in your own network"],
  ])("that cannot reach %s come last, with the reason and without a button", async (url, why) => {
    const { named, far } = await sectionOf({ url });
    expect(named[0]).toBe("Claude Code");
    expect(named.slice(-2)).toEqual(["Claude", "ChatGPT"]);
    for (const one of far) {
      expect(one).toContain(why);
      expect(one).not.toContain("href=");
    }
    expect(far).toHaveLength(2);
  });

  test("that take no key come last where there is nothing else", async () => {
    expect((await sectionOf({ isKeyed: true })).named.slice(-2)).toEqual(["Claude", "ChatGPT"]);
    expect((await sectionOf({ isKeyed: true, hasSignIn: true })).far).toEqual([]);
  });
});

describe("credentials", () => {
  const parts = ["curl", "TypeScript", "Python", "mcp-remote", "Cursor", "VS Code", "Claude Code"];
  const withKey = (text: string, key: string) =>
    [...text.matchAll(/<code>([^]*?)<\/code><\/pre>/g)].filter(([, one]) => one!.includes(key));

  test("are named by one placeholder in every snippet, and how to get one", async () => {
    const { text } = await sectionOf({ isKeyed: true });
    expect(withKey(text, `Bearer ${KEY}`)).toHaveLength(parts.length);
    expect(text).toContain("npm run keys -- create NAME");
  });

  test("are not needed by apps that sign in, and by programs they are", async () => {
    const { text } = await sectionOf({ isKeyed: true, hasSignIn: true });
    expect(withKey(text, `Bearer ${KEY}`)).toHaveLength(3);
    expect((await sectionOf()).text).not.toContain("Bearer");
  });

  test("are filled in where the key has just been made", async () => {
    const { text } = await sectionOf({ isKeyed: true, key: "esk_made" });
    expect(withKey(text, "Bearer esk_made")).toHaveLength(parts.length);
    expect(text).not.toContain(KEY);
  });

  test("are filled in for every client where apps could sign in, too, so that none gets the owner's rights", async () => {
    const { text, far } = await sectionOf({ isKeyed: true, hasSignIn: true, key: "esk_made" });
    expect(withKey(text, "Bearer esk_made")).toHaveLength(parts.length);
    const [, config = ""] = /config=([^"&]+)/.exec(text) ?? [];
    expect(atob(decodeURIComponent(config))).toContain("Bearer esk_made");
    const [, install = ""] = /vscode:mcp\/install\?([^"]+)/.exec(text) ?? [];
    expect(decodeURIComponent(install)).toContain("Bearer esk_made");
    expect(far).toHaveLength(2);
    for (const one of far) {
      expect(one).toContain("not those of this key");
      expect(one).not.toContain("href=");
    }
  });
});
