import { once } from "node:events";
import { createServer, request as forward, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that ends event streams as a broken network would. */
export async function breaking(port: number) {
  const open = new Set<ServerResponse>();
  const seen: string[] = [];
  const doomed = new Set<string>();
  const server = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    seen.push([method, headers["last-event-id"]].join(" "));
    const onward = forward({ port, method, path: url, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      if (String(answer.headers["content-type"]).startsWith("text/event-stream")) {
        open.add(response);
      }
      answer.on("data", (chunk: Buffer) => {
        const text = [...doomed].find((one) => chunk.includes(one));
        if (text === undefined) return response.write(chunk);
        doomed.delete(text);
        // One chunk may bring several events: those before it arrive, the first of them with the headers.
        const before = chunk.subarray(
          0,
          Math.max(0, chunk.lastIndexOf("\n\n", chunk.indexOf(text)) + 2),
        );
        response.flushHeaders();
        return response.write(before, () => response.destroy());
      });
      answer.on("end", () => response.end());
      answer.on("error", () => response.destroy());
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => {
      open.delete(response);
      onward.destroy();
    });
    incoming.pipe(onward);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
    /** The requests that came, and what they came back for. */
    seen,
    /** All streams break off. */
    cut: () => open.forEach((response) => response.destroy()),
    /** The stream that is to bring this text breaks off before it. */
    lose: (text: string) => doomed.add(text),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
