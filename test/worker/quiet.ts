/**
 * What workerd writes of clients that leave, hosts that do not exist and objects that a test aborts, and what objects
 * log after the test that used them.
 */
const EXPECTED = [
  /disconnected|DNS lookup failed|lookup address information|abortAllDurableObjects/,
  /^stack: \S*workerd@/,
  /Its build has changed: its memory starts empty/,
];

/** Leaves that out of what a run prints: the plugin of the tests has no setting for it. */
export default function setup() {
  const { stdout, stderr } = process;
  const restored = [stdout, stderr].map((stream) => {
    const write = stream.write.bind(stream);
    stream.write = ((text: string | Uint8Array, ...rest: []) =>
      EXPECTED.some((line) => line.test(String(text))) ||
      write(text, ...rest)) as typeof stream.write;
    return () => void (stream.write = write);
  });
  return () => restored.forEach((restore) => restore());
}
