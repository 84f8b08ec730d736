import { checksum, contentOf } from "../../guests/copying/content.ts";
import { limits } from "../../../src/server/features/transfers/limits.ts";
import type { Json } from "./attempt.ts";
import { Caller, type CallerWorld } from "./caller.ts";
import type { Step } from "./programs.ts";
import type { Against } from "./rules.ts";
import type { Call } from "./scene.ts";

/** What a client knows of its scene. */
interface Surroundings {
  against: Against;
  /** True if the caller has less room for files than the default. */
  isNarrow: boolean;
  /** The most by which clocks differ, and messages take, in ms. */
  toleranceMs: number;
  /** Answers that no result explains: they are failures where there are no faults. */
  refusals: string[];
}

/** A file that was sent or made; times are true. */
interface KnownFile {
  label: string;
  uri: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** A time before it was whole. */
  since: number;
}

/** An upload that is under way. */
interface Upload {
  label: string;
  path: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** Bytes that have arrived, as an answer has said, and bytes that were sent. */
  acknowledged: number;
  sent: number;
  /** True times: before it was begun, and before the newest part arrived that was acknowledged. */
  began: number;
  since: number;
}

type Arrival = "whole" | "over" | number;

const SMALLEST_CHUNK = 100;
const FULL =
  /^Your stored files have (\d+) bytes, and this one has (\d+) more \(limit (\d+)\)|too many stored files/;

/** A client that sends files in parts, has a tool read them, and fetches those that a tool makes. */
export class TransfersClient {
  readonly world: CallerWorld;
  readonly #call: Call & { label: string };
  readonly #around: Surroundings;
  readonly #own: Caller;
  #files = 0;
  #newest: KnownFile | undefined;
  /** Bytes of all files that it may have begun. */
  #begun = 0;

  constructor(world: CallerWorld, call: Call & { label: string }, around: Surroundings) {
    this.world = world;
    this.#call = call;
    this.#around = around;
    this.#own = new Caller(world, call.caller ?? 0);
  }

  async run(): Promise<void> {
    for (const [at, step] of this.#call.program.entries()) {
      const label = `${this.#call.label}.${at}`;
      const { ms = 0, bytes = 0 } = step;
      if (step.do === "sleep") await this.world.sleep(ms);
      else if (step.do === "leave") await this.#leave(label, bytes);
      else if (step.do === "make") await this.#make(label, step);
      else if (step.do === "send") await this.#send(label, step);
      else if (this.#newest !== undefined) await this.#check(this.#newest, ms);
    }
  }

  /** Sends a file, anew each time the URL's time is over, and has it read. */
  async #send(label: string, { ms = 0, bytes = 0 }: Step): Promise<void> {
    for (let times = 1; ; times++) {
      const upload = await this.#begin(`${label}-${times}`, bytes);
      if (upload === undefined) return;
      const file = await this.#sendAll(upload);
      if (file === undefined) continue;
      this.#newest = file;
      return this.#check(file, ms);
    }
  }

  /** Begins an upload, sends a part and comes back no more. */
  async #leave(label: string, bytes: number): Promise<void> {
    const upload = await this.#begin(label, bytes);
    if (upload !== undefined) await this.#put(upload, 0, bytes / 2);
  }

  async #begin(label: string, size: number): Promise<(Upload & { uri: string }) | undefined> {
    const began = this.world.now();
    const args = { name: `${label}.bin`, size, mimeType: "application/x-own" };
    const given = await this.#surely("upload_file", args, size);
    if (given === undefined) return undefined;
    const { file, transfer } = given["structuredContent"] as Json;
    return {
      label,
      uri: file.uri,
      path: new URL(transfer.url).pathname,
      bytes: contentOf(++this.#files, size),
      acknowledged: 0,
      sent: 0,
      began,
      since: began,
    };
  }

  /** Sends what is missing until all has arrived; undefined where the time of the URL is over. */
  async #sendAll(upload: Upload & { uri: string }): Promise<KnownFile | undefined> {
    const { bytes, label, uri } = upload;
    const { chance } = this.world;
    const most = chance.pick([bytes.length, Math.ceil(bytes.length / 2), 70_000]);
    let at = 0;
    for (let times = 1; ; times++) {
      const end = Math.min(bytes.length, at + Math.max(most, bytes.length / 20));
      const put = await this.#put(upload, at, end);
      if (put === undefined) await this.#own.pause(times);
      const arrived = put ?? (await this.#look(upload));
      if (arrived === "over") return undefined;
      if (arrived === "whole") return { label, uri, bytes, since: upload.since };
      at = arrived ?? at;
    }
  }

  /** Sends a part; undefined where nobody can tell how much of it has arrived. */
  async #put(upload: Upload, start: number, end: number): Promise<Arrival | undefined> {
    const { bytes } = upload;
    const part = bytes.subarray(start, Math.ceil(end));
    upload.sent = Math.max(upload.sent, start + part.length);
    const isWhole = part.length === bytes.length;
    const range = `bytes ${start}-${start + part.length - 1}/${bytes.length}`;
    this.world.note(`PUT ${range}`);
    const headers = {
      "content-length": String(part.length),
      ...(!isWhole && { "content-range": range }),
    };
    const body = part.length === 0 ? null : this.#stream(part);
    return this.#upload(upload, { method: "PUT", headers, body });
  }

  async #look(upload: Upload): Promise<Arrival> {
    for (let times = 1; ; times++) {
      const found = await this.#upload(upload, { method: "GET" });
      if (found !== undefined) return found;
      await this.#own.pause(times);
    }
  }

  /** What an answer says of an upload; undefined where it says nothing. */
  async #upload(upload: Upload, init: RequestInit): Promise<Arrival | undefined> {
    const { label, path, bytes } = upload;
    const { against, toleranceMs } = this.#around;
    const before = this.world.now();
    const answer = await this.#own.request(path, init, async (response) => ({
      status: response.status,
      text: await response.text(),
    }));
    if (answer === undefined) return undefined;
    const { status, text } = answer;
    this.world.note(`${status} ${text.slice(0, 160)}`);
    const { received, error } = JSON.parse(text || "{}") as Json;
    if (status === 404) {
      const ms = this.world.now() - upload.since;
      const lasts = this.world.now() - upload.began < limits.uploadMs - toleranceMs;
      if (lasts && ms < limits.uploadIdleMs - toleranceMs)
        against("uploads go on", `${label} is over ${ms} ms after its last part`);
      return "over";
    }
    // The sender may have gone itself.
    if (status >= 400 && !/was cut off/.test(text))
      this.#around.refusals.push(`${label}: ${status} ${text}`);
    const isSaid = typeof received === "number" || (typeof error === "string" && error !== "");
    if (!isSaid && status < 500) against("uploads go on", `${label} is answered ${status} ${text}`);
    if (typeof received !== "number") return undefined;
    if (received < upload.acknowledged || received > upload.sent)
      against(
        "uploads go on",
        `${label} has ${received} bytes, of ${upload.acknowledged} to ${upload.sent}`,
      );
    if (received > upload.acknowledged) upload.since = before;
    upload.acknowledged = received;
    if (status === 201 && received !== bytes.length)
      against("uploads go on", `${label} is whole with ${received} bytes`);
    // One without bytes is whole once that is said.
    const isSent = received === bytes.length && (received > 0 || status === 409);
    const isWhole = status === 201 || isSent;
    return isWhole ? "whole" : received;
  }

  /** The bytes in chunks; now and then they break off. */
  #stream(bytes: Uint8Array): ReadableStream<Uint8Array> {
    const { chance } = this.world;
    const size = Math.max(SMALLEST_CHUNK, Math.ceil(bytes.length / (1 + chance.below(5))));
    const breaksAt = chance.of(0.05) ? chance.below(bytes.length) : Infinity;
    let at = 0;
    return new ReadableStream({
      pull: (controller) => {
        if (at >= breaksAt) return controller.error(new Error("the sender has gone"));
        // A copy: its buffer goes to the reader.
        controller.enqueue(bytes.slice(at, at + size));
        at += size;
        if (at >= bytes.length) controller.close();
      },
    });
  }

  /** Has a tool read a file, until it has. */
  async #check(file: KnownFile, ms: number): Promise<void> {
    const { uri, bytes, label, since } = file;
    for (let times = 1; ; times++) {
      const message = await this.#tool("check", { data: uri, ms });
      const result = message?.["result"];
      const text = String(result?.content?.[0]?.text ?? message?.["error"]?.message);
      const isOld = this.world.now() - since > limits.transferMs - this.#around.toleranceMs;
      const isGone = /no such file|are gone/.test(text);
      if (isGone && isOld) return;
      if (isGone) this.#around.against("files are whole", `${label} is not there: ${text}`);
      if (isGone) return;
      if (result !== undefined && result.isError !== true) {
        const sum = checksum(bytes);
        const read = result.structuredContent as Json;
        if (read["size"] !== bytes.length || read["whole"] !== sum || read["parts"] !== sum)
          this.#around.against(
            "files are whole",
            `${label}, ${sum}, is read as ${JSON.stringify(read)}`,
          );
        return;
      }
      await this.#own.pause(times);
    }
  }

  async #make(label: string, { bytes: size = 0, ms = 0 }: Step): Promise<void> {
    const seed = ++this.#files;
    const since = this.world.now();
    const given = await this.#surely("make", { seed, bytes: size, ms }, size);
    if (given === undefined) return;
    const [link] = given["content"];
    const bytes = contentOf(seed, size);
    const uri = link._meta["edge-servlets/file"] as string;
    const file = { label, uri, bytes, since };
    if (link.size !== size)
      this.#around.against("files are whole", `${label} has ${link.size} bytes`);
    await this.#fetch(file, new URL(link.uri).pathname);
    this.#newest = file;
    await this.#check(file, 0);
  }

  /** Fetches a file by ranges, each until it has come. */
  async #fetch({ label, bytes, since }: KnownFile, path: string): Promise<void> {
    const { chance } = this.world;
    for (let at = 0, times = 1; at < bytes.length; times++) {
      const end = Math.min(bytes.length, at + 1 + chance.below(bytes.length));
      const headers = { range: `bytes=${at}-${end - 1}` };
      const got = await this.#own.request(path, { method: "GET", headers }, async (response) => {
        const all = await response.bytes();
        return { status: response.status, all, type: response.headers.get("content-type") };
      });
      if (got === undefined) await this.#own.pause(times);
      if (got === undefined) continue;
      this.world.note(`${got.status} ${headers.range}: ${got.all.length} bytes`);
      if (got.status === 404 || got.status === 410) {
        if (this.world.now() - since < limits.transferMs - this.#around.toleranceMs)
          this.#around.against("files are whole", `${label} is answered ${got.status}`);
        return;
      }
      if (got.status >= 400) {
        this.#around.refusals.push(`${label}: ${got.status} ${new TextDecoder().decode(got.all)}`);
        await this.#own.pause(times);
        continue;
      }
      // A client sees by the length that a part is cut off.
      if (got.all.length < end - at) {
        await this.#own.pause(times);
        continue;
      }
      if (Buffer.compare(got.all, bytes.subarray(at, end)) !== 0)
        this.#around.against("files are whole", `${label} is fetched with other bytes from ${at}`);
      at = end;
    }
  }

  /** The result of a tool that makes a file of this size; undefined if there is no room for it. */
  async #surely(tool: string, args: Json, size: number): Promise<Json | undefined> {
    for (let times = 1; ; times++) {
      this.#begun += size;
      const message = await this.#tool(tool, args);
      const result = message?.["result"] as Json | undefined;
      if (result !== undefined && result["isError"] !== true) return result;
      const text = String(result?.["content"]?.[0]?.text ?? message?.["error"]?.message ?? "");
      const full = FULL.exec(text.replace(/^.*?(?=Your stored|You have)/s, ""));
      if (full !== null) {
        const [, stored = 0] = full;
        if (!this.#around.isNarrow || Number(stored) > this.#begun)
          this.#around.against("stored as counted", `${this.#call.label}: ${text}`);
        return undefined;
      }
      await this.#own.pause(times);
    }
  }

  /** The end of a call; undefined where nobody can tell whether it has begun. */
  async #tool(tool: string, args: Json): Promise<Json | undefined> {
    const name = tool === "upload_file" ? tool : `${this.#call.tool}-${tool}`;
    const message = await this.#own.call(name, args, { hasTasks: this.world.chance.of(0.5) });
    const { error, result } = message ?? {};
    if (error !== undefined || result?.isError === true)
      this.#around.refusals.push(`${name}: ${JSON.stringify(error ?? result).slice(0, 300)}`);
    return message;
  }
}
