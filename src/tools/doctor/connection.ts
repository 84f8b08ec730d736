/** DNS, TLS, redirects, the clock and `/health`: what a client meets before it speaks MCP. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { connect } from "node:tls";
import { isLoopback, isPrivate } from "../../server/kernel/http/private-hosts.ts";
import { DOCS } from "../bundle/own.ts";
import { shownUrl } from "./address.ts";
import { notTried, right, Unreachable, wrong, type Finding } from "./finding.ts";
import { objectIn, post, redirectOf, send, type HttpReply } from "./requests.ts";

/** A request that needs no session. */
export const PING = { id: "ping", method: "ping" };

const bareHost = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, "$1");

export async function checkDns(endpoint: URL): Promise<Finding> {
  const name = "DNS";
  const host = bareHost(endpoint);
  if (isIP(host) !== 0) return right(name, `${host} is an address, so no name must resolve.`);
  try {
    const found = await lookup(host, { all: true });
    const addresses = [...new Set(found.map(({ address }) => address))];
    const list = addresses.slice(0, 3).join(", ") + (addresses.length > 3 ? ", …" : "");
    const isHidden = !isLoopback(host) && addresses.every(isPrivate);
    return right(
      name,
      isHidden
        ? `${host} is ${list}, which is in a private network: only clients in it reach the server, and not Claude or ChatGPT.`
        : `${host} is ${list}.`,
    );
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return wrong(
      name,
      code === "EAI_AGAIN"
        ? `The name server does not answer for ${host}. Check this machine's connection, and try again.`
        : `${host} does not resolve. Check its spelling. For a domain of your own, add its DNS record, or its route to wrangler.toml and deploy; a new record takes some minutes.`,
    );
  }
}

/** Days before its end by which a certificate should be renewed. */
const RENEWAL_DAYS = 7;
const DAY = 86_400_000;

/** What Node's error codes for certificates mean, and what to do. */
const CERTIFICATE_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired. Renew it",
  CERT_NOT_YET_VALID: "is not valid yet. Check the clock of this machine",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "is for another name. Get one for this host, or give clients the name that it is for",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "is self-signed, which clients refuse. Get one of a public authority, such as Let's Encrypt",
  SELF_SIGNED_CERT_IN_CHAIN:
    "is signed by an authority that clients do not know. Get one of a public authority, such as Let's Encrypt",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "is signed by an authority that clients do not know. Get one of a public authority, such as Let's Encrypt",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "comes without its intermediate certificates. Have the server send the whole chain (fullchain.pem)",
};

interface Certificate {
  /** The code of what is wrong with it; undefined if clients accept it. */
  fault: string | undefined;
  /** Unix time in ms. */
  ends: number;
}

/** The certificate of a server. Throws Node's error if there is no TLS. */
function certificateOf(endpoint: URL): Promise<Certificate> {
  const host = bareHost(endpoint);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: Number(endpoint.port || 443),
      ...(isIP(host) === 0 && { servername: host }),
      rejectUnauthorized: false,
      timeout: 10_000,
    });
    socket.once("secureConnect", () => {
      const { authorized, authorizationError: error } = socket;
      const ends = Date.parse(socket.getPeerCertificate().valid_to);
      socket.destroy();
      const code = (error as (Error & { code?: string }) | undefined)?.code ?? String(error);
      resolve({ fault: authorized ? undefined : code, ends });
    });
    socket.once("timeout", () => socket.destroy(new Error("it does not answer within 10 s")));
    socket.once("error", reject);
  });
}

export async function checkTls(endpoint: URL): Promise<Finding> {
  const name = "TLS";
  const { protocol, hostname, host } = endpoint;
  if (protocol === "http:")
    return isLoopback(hostname)
      ? right(name, "Plain http is right on this machine itself; elsewhere clients need https.")
      : wrong(
          name,
          `This is plain http: keys and tokens could be read on the way, and clients refuse to sign in. Put https in front (${DOCS}/self-hosting.md), and give its URL.`,
        );
  try {
    const { fault, ends } = await certificateOf(endpoint);
    if (fault !== undefined)
      return wrong(
        name,
        `The certificate of ${host} ${CERTIFICATE_FAULTS[fault] ?? `is refused (${fault}). Replace it`}.`,
      );
    const days = Math.floor((ends - Date.now()) / DAY);
    const valid = `The certificate is for ${hostname}, and valid for ${days} more day${days === 1 ? "" : "s"}`;
    return days < RENEWAL_DAYS
      ? wrong(name, `${valid} only. Check why it is not renewed, and renew it.`)
      : right(name, `${valid}.`);
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const why =
      code === "ECONNREFUSED"
        ? `nothing listens at ${host}. Start the server, and check the port`
        : code.startsWith("ERR_SSL") || code === "EPROTO"
          ? "what listens there speaks no TLS. Give the URL with http:// if the server is on this machine; else set up https"
          : `${message}. Check the firewall and the proxy`;
    return wrong(name, `There is no TLS connection: ${why}.`);
  }
}

/** The server's plain http address, where people who leave out `https` arrive. */
export async function checkPlainHttp(endpoint: URL): Promise<Finding> {
  const name = "Plain http";
  if (endpoint.protocol === "http:") return notTried(name, "The URL itself is plain http.");
  if (endpoint.port !== "") return notTried(name, "The server has a port of its own.");
  const plain = new URL(endpoint);
  plain.protocol = "http:";
  let reply: HttpReply;
  try {
    reply = await send(plain);
  } catch (error) {
    if (error instanceof Unreachable) return right(name, "It is not served.");
    throw error;
  }
  const there = redirectOf(reply, plain);
  if (there?.protocol === "https:") return right(name, `It leads to ${shownUrl(there)}.`);
  if (reply.status >= 400) return right(name, `It is refused with status ${reply.status}.`);
  return wrong(
    name,
    `${shownUrl(plain)} answers with status ${reply.status}, so a client may send its key unencrypted. Redirect http to https (Cloudflare: SSL/TLS, Edge Certificates, Always Use HTTPS).`,
  );
}

/** Whether the endpoint answers itself: clients drop keys and bodies when they are led elsewhere. */
export async function checkAnswer(endpoint: URL): Promise<Finding> {
  const name = "Answer";
  const there = redirectOf(await post(endpoint, PING), endpoint);
  if (there === undefined) return right(name, "The URL answers, and does not lead elsewhere.");
  if (there.hostname.endsWith(".cloudflareaccess.com"))
    return wrong(
      name,
      "Cloudflare Access stands in front of the server and asks for a sign-in in a browser, which MCP clients cannot pass. Add a policy with the action Bypass for this path (Zero Trust, Access, Applications).",
    );
  return wrong(
    name,
    `The URL leads to ${shownUrl(there)}. Many clients drop the key or the request on the way there, so give them that URL, and check it with this command.`,
  );
}

/** The endpoint with and without a slash at its end: people copy both. */
export async function checkSlash(endpoint: URL): Promise<Finding> {
  const name = "Slash";
  if (endpoint.pathname === "/") return notTried(name, "The URL has no path.");
  const other = new URL(endpoint);
  other.pathname = endpoint.pathname.endsWith("/")
    ? endpoint.pathname.slice(0, -1)
    : `${endpoint.pathname}/`;
  const [given, reply] = [await post(endpoint, PING), await post(other, PING)];
  const there = redirectOf(reply, other);
  if (there !== undefined)
    return wrong(
      name,
      `${other.pathname} leads to ${shownUrl(there)}, where many clients drop the key or the request. Serve both, or give clients ${endpoint.pathname} alone.`,
    );
  if (reply.status === given.status) return right(name, `${other.pathname} is the same endpoint.`);
  return right(
    name,
    `${other.pathname} answers with status ${reply.status}, so give clients ${endpoint.pathname} exactly.`,
  );
}

/** Seconds that two clocks may differ: proofs of clients are valid from the second in which they are made. */
const CLOCK_SECONDS = 10;

export async function checkClock(endpoint: URL): Promise<Finding> {
  const name = "Clock";
  const began = Date.now();
  const { headers } = await send(new URL("/health", endpoint));
  const ended = Date.now();
  const date = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(date)) return notTried(name, "The server's answers have no Date header.");
  // The header has whole seconds, and was written between the two times.
  const behind = Math.max(0, began - (date + 1000)) / 1000;
  const ahead = Math.max(0, date - ended) / 1000;
  const seconds = Math.round(Math.max(behind, ahead));
  if (seconds <= CLOCK_SECONDS)
    return right(
      name,
      `The server's clock agrees with this machine's within ${Math.max(1, seconds)} s.`,
    );
  return wrong(
    name,
    `The server's clock is ${seconds} s ${ahead > 0 ? "ahead of" : "behind"} this machine's, so tokens are refused as expired, or as not valid yet. Set both clocks by NTP (timedatectl set-ntp true).`,
  );
}

/** `/health` of servers of this project. */
export async function checkHealth(endpoint: URL): Promise<Finding & { isOurs: boolean }> {
  const name = "Health";
  const reply = await send(new URL("/health", endpoint));
  const health = healthIn(reply);
  const isOurs = health !== undefined;
  if (health === undefined)
    return {
      ...notTried(
        name,
        `There is no /health (status ${reply.status}): this is not a server of this project.`,
      ),
      isOurs,
    };
  if (reply.status === 503)
    return {
      ...wrong(
        name,
        "The server cannot list its servlets. Its log says why: npx wrangler tail, or what npm start prints.",
      ),
      isOurs,
    };
  if (health["storage"] === "full")
    return {
      ...wrong(
        name,
        `The disk of the server is full. Delete files, or enlarge it (${DOCS}/self-hosting.md).`,
      ),
      isOurs,
    };
  const { name: called, version, tools } = health;
  const has = typeof tools === "number" ? `, with ${tools} tools` : "";
  return { ...right(name, `${String(called)} ${String(version)} runs${has}.`), isOurs };
}

/** The health that a server of this project says; undefined for anything else. */
function healthIn(reply: HttpReply) {
  const health = objectIn(reply);
  const isHealth = typeof health?.["name"] === "string" && typeof health["version"] === "string";
  return isHealth && [200, 503].includes(reply.status) ? health : undefined;
}
