/**
 * Runs a script in the servlet's global scope: later scripts see its declarations, including `let` and `const`. The script may
 * `await`. Resolves with the value of its last statement; rejects with the error that it throws, whose `stack` has lines such
 * as `script:LINE:COLUMN`.
 *
 * @example
 * await runScript("let total = 1");
 * await runScript("total += 2; total * 10"); // → 30
 */
export async function runScript(source: string): Promise<unknown> {
  const { value } = await __host.evaluate(source);
  return value;
}
