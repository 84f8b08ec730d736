/** Settings from the driver for each client's program, and the reports to it; see ../README.md. */
const setting = (name: string): string => process.env[`CLIENT_${name}`] ?? "";

export const url = new URL(setting("URL"));
export const revision = setting("REVISION");
export const signedUrl = new URL(setting("SIGNED_URL"));
export const key = setting("KEY");
export const passphrase = setting("PASSPHRASE");
export const teamUrl = new URL(setting("TEAM_URL"));
export const login = setting("LOGIN");
export const stayMs = Number(setting("STAY_SECONDS")) * 1000;

/**
 * How long a notification of the session's own may be on its way: the server has clients that are silent
 * for long come back less often.
 */
export const patienceMs = Number(setting("PATIENCE_SECONDS")) * 1000;

/** Thrown by a step that the client has no means for. */
export class NotOffered extends Error {}

const cells: Record<string, string> = {};

/** Fills one cell of the matrix; a step that takes too long has failed. */
export async function cell(name: string, step: () => Promise<void>, limitMs = 30_000) {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing after ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([step(), late]);
    cells[name] = "ok";
  } catch (error) {
    cells[name] = error instanceof NotOffered ? "not offered" : `failed: ${String(error)}`;
  }
  clearTimeout(timer);
}

export const report = (): void => console.log(JSON.stringify(cells));

export function expect(holds: boolean, found: unknown): void {
  if (!holds) throw new Error(`found ${JSON.stringify(found)}`);
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function within(
  ms: number,
  holds: () => boolean | Promise<boolean>,
): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; await pause(50))
    if (await holds()) return true;
  return holds();
}

/** Asks something of the driver: to break streams, to end the session, to sign in. */
export async function tell(what: string, body = ""): Promise<string> {
  const response = await fetch(`${setting("CONTROL")}/${what}`, { method: "POST", body });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
