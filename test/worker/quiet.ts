/** workerd's two lines about each client that leaves and each host that does not exist. */
const EXPECTED = /disconnected|DNS lookup failed|lookup address information|^stack: \S*workerd@/;

/** Leaves that out of what a run prints: the plugin of the tests has no setting for it. */
export default function setup() {
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = ((text: string | Uint8Array, ...rest: []) =>
    EXPECTED.test(String(text)) || write(text, ...rest)) as typeof process.stderr.write;
  return () => void (process.stderr.write = write);
}
