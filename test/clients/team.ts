/** A team at GitHub's stand-in, whose members sign in to a server for the clients that they use. */
import { linkOf, PersonBrowser, wordsOf } from "../node/http/account-provider.ts";
import { gitHub } from "../node/http/github.ts";

export interface Member {
  /** The login at GitHub. */
  login: string;
  /** The name by which the server knows this person. */
  principal: string;
  /** Signs in at GitHub, and consents; gives the URL that the browser is sent back to. */
  signIn(from: string): Promise<string>;
}

export interface Team {
  /** Of a server at which the members sign in. */
  variables: Record<string, string>;
  /** The variable that has the server's secret at GitHub. */
  secret: string;
  /** A new member, who has called nothing yet. */
  join(): Member;
  close(): Promise<void>;
}

/** Founds a team for the server that will be on this port. */
export async function startTeam(port: number): Promise<Team> {
  const github = await gitHub(`http://127.0.0.1:${port}/account/callback`);
  const secret = "GITHUB_SECRET";
  return {
    secret,
    variables: {
      RUN_LOG: "json",
      [secret]: github.app.clientSecret,
      SIGN_IN: JSON.stringify({
        github: {
          client_id: github.app.clientId,
          client_secret: secret,
          server: github.url,
          allow: { organizations: ["acme"] },
        },
      }),
    },
    join() {
      const id = github.people.length + 1;
      const login = `member-${id}`;
      github.people.push({ id, login, organizations: { acme: { state: "active" } } });
      return {
        login,
        principal: `${github.url} ${id}`,
        async signIn(from) {
          const callback = new URL(from).searchParams.get("redirect_uri")!;
          // The client itself goes there.
          const browser = new PersonBrowser((url) => url.href.startsWith(callback));
          const page = linkOf(await browser.open(from), "Continue with GitHub");
          const shown = await browser.go(page, { login, decision: "allow" });
          if (shown.url.href.startsWith(callback)) return shown.url.href;
          throw new Error(`${shown.url.href} answers ${shown.status}: ${wordsOf(shown)}`);
        },
      };
    },
    close: github.close,
  };
}

/** Whether the log of a server's runs has a call of `greet` by this principal. */
export function hasGreeted(log: string, principal: string): boolean {
  const parts = ['"subject":"greet"', `"principal":${JSON.stringify(principal)}`];
  return log.split("\n").some((line) => parts.every((part) => line.includes(part)));
}
