/** The module that the bundle step makes for the servlet's versions of zod: see `src/languages/typescript/sdks.ts`. */
declare module "edge-servlets/zod-of-servlet" {
  export const objects: Record<"modern" | "old", (shape: Record<string, unknown>) => unknown>;
  export const convert: Parameters<typeof import("../schema.ts").convertWith>[0];
}

declare module "node:buffer" {
  export interface Bytes extends Uint8Array<ArrayBuffer> {
    toString(encoding?: string): string;
  }
  export const Buffer: {
    from(data: unknown, encoding?: string): Bytes;
    isBuffer(value: unknown): boolean;
  };
}
