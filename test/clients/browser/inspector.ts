/** The web interface of the Inspector: https://github.com/modelcontextprotocol/inspector */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startChromium } from "../../node/http/chromium.ts";
import { freePort } from "../../node/workerd.ts";
import {
  cell,
  expect,
  key,
  login,
  passphrase,
  report,
  signedUrl,
  teamUrl,
  url,
  within,
} from "../typescript/cells.ts";
import { greets, isModern, play } from "../typescript/steps.ts";
import { connect, peerOf } from "./page.ts";

/** Where the package is. */
const installed = process.argv[2]!;
const folder = await mkdtemp(join(tmpdir(), "inspector-"));
const browser = await startChromium();
try {
  const home = await startInspector();
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  page.setDefaultTimeout(15_000);
  /** The Inspector as it is when its user comes to it, with no server connected. */
  const arrive = () => page.goto(home);

  await arrive();
  let connected = false;
  await cell("connect", async () => {
    await connect(page, "open");
    connected = true;
  });
  if (connected) await play(peerOf(page));
  await cell("key", async () => {
    await arrive();
    await page.getByRole("switch", { name: '"signed"' }).press("Space");
    await page.getByLabel("Passphrase").waitFor();
    await arrive();
    await connect(page, "keyed");
    await greets(peerOf(page));
  });
  await cell("oauth", async () => {
    await arrive();
    await page.getByRole("switch", { name: '"signed"' }).press("Space");
    await page.getByLabel("Passphrase").fill(passphrase);
    await consent(page);
  });
  await cell("team", async () => {
    await arrive();
    await page.getByRole("switch", { name: '"team"' }).press("Space");
    await page.getByRole("link", { name: "Continue with GitHub" }).click();
    await page.getByLabel("Login").fill(login);
    await page.getByRole("button", { name: "Authorize" }).click();
    await consent(page);
  });
} finally {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}
report();
process.exit(0);

/** Lets the Inspector in, which then connects, and calls. */
async function consent(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Allow" }).click();
  await page.locator('[data-testid="connection-status"][data-status="connected"]').waitFor();
  await greets(peerOf(page));
}

/** Starts the Inspector's own server in this process, with which it ends; gives the page's URL. */
async function startInspector(): Promise<string> {
  const common = { type: "streamable-http", protocolEra: isModern ? "modern" : "legacy" };
  const mcpServers = {
    open: { ...common, url },
    signed: { ...common, url: signedUrl },
    team: { ...common, url: teamUrl },
    keyed: { ...common, url: signedUrl, headers: { Authorization: `Bearer ${key}` } },
  };
  const config = join(folder, "servers.json");
  await writeFile(config, JSON.stringify({ mcpServers }));
  const port = await freePort();
  const token = crypto.randomUUID();
  Object.assign(process.env, {
    CLIENT_PORT: String(port),
    HOME: folder,
    MCP_APP_ORIGIN_PORT: "0",
    MCP_AUTO_OPEN_ENABLED: "false",
    MCP_INSPECTOR_API_TOKEN: token,
    MCP_INSPECTOR_SECRET_STORE: "memory",
    MCP_SANDBOX_PORT: "0",
    MCP_STORAGE_DIR: folder,
  });
  process.argv.splice(2, Infinity, "--web", "--config", config);
  await import(join(installed, "clients/launcher/build/index.js"));
  const home = `http://127.0.0.1:${port}/?MCP_INSPECTOR_API_TOKEN=${token}`;
  const answers = () =>
    fetch(home).then(
      ({ ok }) => ok,
      () => false,
    );
  expect(await within(30_000, answers), "the Inspector does not start");
  return home;
}
