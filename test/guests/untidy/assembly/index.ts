// untidy: gives what plugins of other hosts are known to give, tool by tool.
import { fail, input, output } from "../../../../plugins/lib/assembly/extism";
import { Json, quote } from "../../../../plugins/lib/assembly/json";

export function describe(): i32 {
  return output(`{"tools":[
    {"name":"generated","description":"what generated code writes","inputSchema":null,"title":null},
    {"name":"no type","description":"blocks without a type","inputSchema":{"type":"object"}},
    {"name":"nested","description":"a resource under a capital letter","inputSchema":{}},
    {"name":"input","description":"gives its input back","inputSchema":{"type":"object"}},
    {"name":"halves","description":"half of a character: \\ud83d","inputSchema":{"properties":{"\\ude00":{}}}},
    {"name":"by_reference","description":"a schema of draft 7, as older generators write it","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","required":["size"],"properties":{"size":{"allOf":[{"$ref":"#/definitions/Size"}],"description":"How large"},"any":true,"pair":{"type":"array","items":[{"type":"string"},{"type":"number"}],"additionalItems":false}}},"Size":{"enum":["s","m"]}}}},
    {"name":"a.choice","description":"a choice at the root","inputSchema":{"anyOf":[{"required":["a"]},{"required":["b"]}]}},
    {"name":"bad_schema","description":"an invalid schema","inputSchema":{"type":"object","properties":{"required":["x"]}}}
  ]}`);
}

export function call(): i32 {
  const given = input();
  const name = Json.parse(given).get("params").get("name").string();
  if (name == "generated") {
    return output(
      '{"_meta":null,"content":[{"_meta":null,"annotations":{"audience":null,"priority":0},"data":"","mimeType":"","text":"kept","type":"text"}],"isError":null}',
    );
  }
  if (name == "no type") {
    return output(
      '{"content":[{"type":"","text":"a"},{"data":"aGk=","mimeType":"audio/mpeg"},{"data":"iVBORw==","mimeType":""}]}',
    );
  }
  if (name == "nested") {
    return output(
      '{"content":[{"type":"resource","Resource":{"uri":"x://a","text":{"mimeType":"text/plain","text":"t","uri":"x://a"}}},{"type":"resource","resource":{"uri":"x://b","blob":"aGk="}}]}',
    );
  }
  if (name == "halves") {
    return output('{"content":[{"type":"text","text":"\\ud83d \\ud83d\\ude00"}]}');
  }
  return output(`{"content":[{"type":"text","text":${quote(given)}}]}`);
}

export function list_resources(): i32 {
  return output(
    '{"resources":[{"uri":"untidy://old","name":"old","mimeType":"","description":null}],"nextCursor":null}',
  );
}

export function read_resource(): i32 {
  const uri = Json.parse(input()).get("params").get("uri").string();
  if (!uri.startsWith("untidy://")) return fail("not of mine: " + uri);
  return output('{"content":[{"type":"resource","data":"b2xk","mimeType":"text/plain"}]}');
}
