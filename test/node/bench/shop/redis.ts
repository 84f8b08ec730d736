/** A client of Redis: https://redis.io/docs/latest/develop/reference/protocol-spec/ (version 2). */
import { once } from "node:events";
import { connect } from "node:net";
import type { Command, Commands, Reply } from "./tools.ts";

/** Connects to the Redis at this place. */
export async function connectRedis(port: number, host = "127.0.0.1"): Promise<Commands> {
  const socket = connect(port, host);
  await once(socket, "connect");
  socket.setNoDelay(true);
  const waiting: { left: number; replies: Reply[]; resolve: (replies: Reply[]) => void }[] = [];
  let received: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    let at = 0;
    for (let read = replyAt(received, at); read !== undefined; read = replyAt(received, at)) {
      at = read.end;
      const [first] = waiting;
      first!.replies.push(read.reply);
      if (first!.replies.length === first!.left) waiting.shift()!.resolve(first!.replies);
    }
    received = received.subarray(at);
  });
  return (commands) =>
    new Promise((resolve) => {
      waiting.push({ left: commands.length, replies: [], resolve });
      socket.write(commands.map(written).join(""));
    });
}

const written = (command: Command) =>
  `*${command.length}\r\n${command.map((one) => `$${Buffer.byteLength(String(one))}\r\n${one}\r\n`).join("")}`;

/** The reply that begins here, and where it ends; undefined as long as not all of it is there. */
function replyAt(bytes: Buffer, at: number): { reply: Reply; end: number } | undefined {
  const lineEnd = bytes.indexOf("\r\n", at);
  if (lineEnd < 0) return undefined;
  const line = bytes.toString("utf8", at + 1, lineEnd);
  const next = lineEnd + 2;
  switch (String.fromCharCode(bytes[at]!)) {
    case "+":
      return { reply: line, end: next };
    case ":":
      return { reply: Number(line), end: next };
    case "$": {
      const end = next + Number(line);
      if (line === "-1") return { reply: null, end: next };
      return bytes.length < end + 2
        ? undefined
        : { reply: bytes.toString("utf8", next, end), end: end + 2 };
    }
    case "*": {
      const reply: Reply[] = [];
      let end = next;
      while (reply.length < Number(line)) {
        const one = replyAt(bytes, end);
        if (one === undefined) return undefined;
        reply.push(one.reply);
        end = one.end;
      }
      return { reply, end };
    }
    default:
      throw new Error(`Redis: ${line}`);
  }
}
