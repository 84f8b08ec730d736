/** Runs in workerd while a bundle is made, and answers how servlets start and what they list. */
import { answer } from "./answer.ts";
import type { Asked } from "./warm-up.ts";

export function answerer(servlets: Record<string, Asked>) {
  return {
    async fetch(request: Request): Promise<Response> {
      return Response.json(await answer(servlets[new URL(request.url).pathname.slice(1)]!));
    },
  };
}
