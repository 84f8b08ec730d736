import ipaddr from "ipaddr.js";
import { expect, test } from "vitest";
import { networkOf } from "../../../src/server/kernel/auth/origin.ts";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["0.0.0.0", "0.0.0.0"],
  ["255.255.255.255", "255.255.255.255"],
  // Other ways to write them are the same network.
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["0x7f.1", "127.0.0.1"],
  ["010.0.0.1", "8.0.0.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:DB8:1:2::", "2001:db8:1:2"],
  ["::1", "0:0:0:0"],
  ["", ""],
  ["256.1.1.1", "256.1.1.1"],
  ["1.2.3.4.", "1.2.3.4."],
])("the network of %j is %j", (address, network) => expect(networkOf(address)).toBe(network));

test("addresses that are told without the library are those that it writes", () => {
  for (const part of [0, 1, 9, 10, 99, 100, 199, 200, 249, 250, 255])
    for (const address of [`${part}.0.0.1`, `1.2.3.${part}`]) {
      expect(ipaddr.process(address).toString()).toBe(address);
      expect(networkOf(address)).toBe(address);
    }
});
