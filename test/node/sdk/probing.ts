import { loadServlet } from "../../../src/tools/testing/index.ts";
import { probes, type Probe } from "./servlets/standards/probes.ts";

type Both = <Name extends keyof typeof probes>(
  name: Name,
  cases: Parameters<(typeof probes)[Name]>[],
) => Promise<{ ours: unknown; nodes: unknown }>;

/** Loads the probes. Then what it gives tells what they say in a servlet and in Node, by case. */
export async function loadProbes(): Promise<Both> {
  const servlet = await loadServlet("test/node/sdk/servlets/standards");
  return async (name, cases) => {
    const probe: Probe = probes[name];
    const nodes = cases.map((args) => [args, probe(...(args as unknown[] as never[]))]);
    const { result } = await servlet.callTool("probe", { name, cases });
    if (result.isError) return { ours: result.content, nodes };
    const { answers } = result.structuredContent as { answers: unknown[] };
    const ours = cases.map((args, at) => [args, answers[at]]);
    // As JSON, for what is undefined here is absent there.
    return { ours, nodes: JSON.parse(JSON.stringify(nodes)) };
  };
}
