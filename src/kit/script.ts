/**
 * Runs a script in the servlet's global scope: what it declares there, `let` and `const` too, stays for the
 * scripts after it. It may `await`. Resolves with the value of its last statement; rejects with what it throws,
 * whose `stack` has lines as `script:LINE:COLUMN`.
 *
 * @example
 * await runScript("let total = 1");
 * await runScript("total += 2; total * 10"); // → 30
 */
export async function runScript(source: string): Promise<unknown> {
  const { value } = await __host.evaluate(source);
  return value;
}
