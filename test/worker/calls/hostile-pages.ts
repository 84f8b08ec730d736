import { limits } from "../../../src/server/kernel/core/limits.ts";
import type { Json } from "./client.ts";

export const PAGE = { mode: "url", message: "Pay", url: "https://pay.example/" };

const SECURE = "Give it an https URL without a user name and a password";
const LONG = `it is longer than ${limits.urlCharacters} characters`;
/** Pages that nobody is asked to open: each as its difference from that page, with what is said of it. */
export const HOSTILE: [what: string, params: Json, why: string][] = [
  ["a script", { url: "javascript:alert(1)" }, `url: it is not https. ${SECURE}`],
  ["a hidden script", { url: " java\tscript:alert(1)" }, `url: it is not https. ${SECURE}`],
  ["data", { url: "data:text/html,<script>1</script>" }, `url: it is not https. ${SECURE}`],
  ["a file", { url: "file:///etc/passwd" }, `url: it is not https. ${SECURE}`],
  ["a private host", { url: "http://192.168.0.1/reboot" }, `url: it is not https. ${SECURE}`],
  ["a metadata host", { url: "http://169.254.169.254/" }, `url: it is not https. ${SECURE}`],
  ["this machine", { url: "http://localhost:8787/" }, `url: it is not https. ${SECURE}`],
  ["an open channel", { url: "http://pay.example/" }, `url: it is not https. ${SECURE}`],
  [
    "another host than it seems",
    { url: "https://bank.example@evil.example/" },
    `url: it has a user name or a password. ${SECURE}`,
  ],
  [
    "a password",
    { url: "https://:pass@pay.example/" },
    `url: it has a user name or a password. ${SECURE}`,
  ],
  ["no URL", { url: "pay.example" }, `url: it is not a URL. ${SECURE}`],
  ["no host", { url: "https://" }, `url: it is not a URL. ${SECURE}`],
  ["nothing", { url: undefined }, `url: it is not a text. ${SECURE}`],
  ["1 MB", { url: `https://pay.example/${"x".repeat(1_000_000)}` }, `url: ${LONG}. ${SECURE}`],
  [
    "what becomes longer",
    { url: `https://pay.example/${"\u{1f600}".repeat(1000)}` },
    `url: ${LONG}. ${SECURE}`,
  ],
  ["no reason", { message: undefined }, "message: it is not a text. Say what the page is for"],
  [
    "a number for an id",
    { elicitationId: 7 },
    `elicitationId: it is not a text of 1 to 256 characters. Shorten it, or leave it out`,
  ],
  [
    "a long id",
    { elicitationId: "x".repeat(257) },
    `elicitationId: it is not a text of 1 to 256 characters. Shorten it, or leave it out`,
  ],
  ["another mode", { mode: "popup" }, "mode: it is unknown. Use form or url"],
];
