import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { bundle } from "../../bundle.gen.ts";

/** What may be known of whether a servlet waits. */
type Known = Partial<PreparedServlet>;

const tools: Known["manifest"] = { tools: { greet: { asks: false } } };

/** Servlets, with whether `get_result` is listed beside them to clients that take streams, and to others. */
export const WAITING: [servlet: string, known: Known, takingStreams: boolean, others: boolean][] = [
  ["that never waits", { neverWaits: true }, false, false],
  ["that only fetches or sleeps", { neverWaits: false, mayAsk: false }, false, true],
  ["that asks", { neverWaits: false, mayAsk: true }, true, true],
  ["of which nothing is known", {}, true, true],
  [
    "whose manifest says that its tool asks nothing",
    { mayAsk: true, manifest: tools },
    false,
    true,
  ],
  ["that asks for accounts", { mayAsk: false, manifest: { accounts: {} } }, true, true],
  ["that calls others", { mayAsk: false, manifest: { may_call: ["*:*"] } }, true, true],
];

const {
  neverWaits: _,
  mayAsk: __,
  ...unknown
} = bundle.servlets.find(({ name }) => name === "hello")!;

/** A bundle with one such servlet. */
export const bundleWaiting = (known: Known) => ({
  ...bundle,
  servlets: [{ ...unknown, ...known }],
});
