import { describe, expect, test } from "vitest";
import { template } from "../../../src/kit/templates.ts";

/** Which URIs a template (RFC 6570) matches, and with what variables. */
describe("a template matches", () => {
  test.each<[source: string, uri: string, variables: Record<string, string>]>([
    ["a:b", "a:b", {}],
    ["a:{x}", "a:1", { x: "1" }],
    ["a:{x}", "a:", { x: "" }],
    ["a:{x}/{y}", "a:1/2", { x: "1", y: "2" }],
    ["a:{x,y}", "a:1,2", { x: "1", y: "2" }],
    ["a:{x}-{y}", "a:1-2-3", { x: "1", y: "2-3" }],
    ["a:{x:3}", "a:abc", { x: "abc" }],
    ["a:{x}", "a:%C3%A9%2F", { x: "é/" }],
    ["a:{x}", "a:100%", { x: "100%" }],
    ["a:{user.name}", "a:1", { "user.name": "1" }],
    ["a:{+path}", "a:b/c?d", { path: "b/c?d" }],
    ["a:b{#part}", "a:b#c/d", { part: "c/d" }],
    ["a:b{.type}", "a:b.txt", { type: "txt" }],
    ["a:b{/x,y}", "a:b/1/2", { x: "1", y: "2" }],
    ["a:b{/all*}", "a:b/1/2", { all: "1/2" }],
    ["a:b{;x,y}", "a:b;x=1;y=2", { x: "1", y: "2" }],
    ["a:b{?x,y}", "a:b?y=2&x=1", { x: "1", y: "2" }],
    ["a:b{?x,y}", "a:b", {}],
    ["a:b{?x}", "a:b?x=%20c=d&z=1", { x: " c=d" }],
    ["a:b?z=1{&x}", "a:b?z=1&x=2", { x: "2" }],
    ["a:{x}{?y}", "a:1?y=2", { x: "1", y: "2" }],
    ["a.b+c://(x)/{y}", "a.b+c://(x)/1", { y: "1" }],
  ])("%s %s", (source, uri, variables) => {
    expect(template(source).match(uri)).toEqual(variables);
  });
});

describe("a template does not match", () => {
  test.each<[source: string, uri: string]>([
    ["a:b", "a:bc"],
    ["a:b", "xa:b"],
    ["a:{x}", "a:1/2"],
    ["a:{x}", "a:1?y"],
    ["a:{x}", "a:1#y"],
    ["a:{x,y}", "a:1"],
    ["a:b{/x}", "a:b/1/2"],
    ["a:b{.type}", "a:btxt"],
    ["a.b:{x}", "aXb:1"],
    ["a:b{?x}", "a:bc?x=1"],
  ])("%s %s", (source, uri) => {
    expect(template(source).match(uri)).toBeUndefined();
  });
});

test("it knows its variables, those of queries last", () => {
  expect(template("a:{x,y}{?q}/{+z}").names).toEqual(["x", "y", "z", "q"]);
});

test.each(["a:{b c}", "a:{}", "a:{x,}", "a:{!x}"])("%s is refused", (source) => {
  expect(() => template(source)).toThrow(`The URI template "${source}" has a bad expression: {`);
});

test("it matches in time linear in the URI, however many ways there are", () => {
  const date = template("date://{year}-{month}-{day}{+rest}-{+more}!");
  expect(date.match(`date://${"-".repeat(8000)}`)).toBeUndefined();
  expect(date.match(`date://${"-".repeat(8000)}!`)).toEqual({
    year: "",
    month: "",
    day: "",
    rest: "",
    more: "-".repeat(7997),
  });
});
