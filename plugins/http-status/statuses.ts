// The status codes of HTTP, from the IANA registry, with what each of them means.

/** Of a code, by its first digit. */
export const categories = [
  "informational",
  "success",
  "redirection",
  "client error",
  "server error",
] as const;

export interface Status {
  code: number;
  name: string;
  category: (typeof categories)[number];
  meaning: string;
  /** The RFC that defines it. */
  specification: string;
}

const TABLE = `100|Continue|RFC 9110|The first part of the request is fine so far; the client may send the body.
101|Switching Protocols|RFC 9110|The server changes to the protocol that the Upgrade header named.
102|Processing|RFC 2518|The server has the request and is still at work (WebDAV, deprecated).
103|Early Hints|RFC 8297|Link headers that the client can already use while the answer is being made.
200|OK|RFC 9110|The request succeeded.
201|Created|RFC 9110|A new resource was made; Location tells where.
202|Accepted|RFC 9110|Taken on, but not done yet, and it may still fail.
203|Non-Authoritative Information|RFC 9110|A success that a proxy has changed on the way.
204|No Content|RFC 9110|Success, with nothing to send back.
205|Reset Content|RFC 9110|Success; the client should clear the form or view that it sent from.
206|Partial Content|RFC 9110|Only the byte range that the Range header asked for.
207|Multi-Status|RFC 4918|Several results in one body (WebDAV).
208|Already Reported|RFC 5842|The members were listed earlier in the same answer (WebDAV).
226|IM Used|RFC 3229|The body is a difference to a version that the client has.
300|Multiple Choices|RFC 9110|There are several forms of the resource to choose from.
301|Moved Permanently|RFC 9110|The resource has a new address for good. Clients may turn POST into GET.
302|Found|RFC 9110|The resource is elsewhere for now. Clients may turn POST into GET.
303|See Other|RFC 9110|The answer is at another address, to be fetched with GET.
304|Not Modified|RFC 9110|The copy that the client has is still good.
305|Use Proxy|RFC 9110|Deprecated: the resource had to be reached through a proxy.
307|Temporary Redirect|RFC 9110|Elsewhere for now; repeat the same method and body there.
308|Permanent Redirect|RFC 9110|Elsewhere for good; repeat the same method and body there.
400|Bad Request|RFC 9110|The server cannot make sense of the request: syntax, framing or routing is wrong.
401|Unauthorized|RFC 9110|Credentials are missing or not valid; WWW-Authenticate tells which are wanted.
402|Payment Required|RFC 9110|Reserved; some services use it for billing limits.
403|Forbidden|RFC 9110|Understood and refused; other credentials might help, the same ones will not.
404|Not Found|RFC 9110|There is nothing at this address, or the server does not want to say so.
405|Method Not Allowed|RFC 9110|The resource does not take this method; Allow lists those that it takes.
406|Not Acceptable|RFC 9110|Nothing there fits the Accept headers.
407|Proxy Authentication Required|RFC 9110|A proxy on the way wants credentials.
408|Request Timeout|RFC 9110|The client took too long to send the request.
409|Conflict|RFC 9110|The request does not fit the present state of the resource.
410|Gone|RFC 9110|It was here, and it is gone for good.
411|Length Required|RFC 9110|The server wants a Content-Length.
412|Precondition Failed|RFC 9110|A condition such as If-Match does not hold.
413|Content Too Large|RFC 9110|The body is larger than the server takes.
414|URI Too Long|RFC 9110|The address is longer than the server takes.
415|Unsupported Media Type|RFC 9110|The body's format is not one that the server takes.
416|Range Not Satisfiable|RFC 9110|The byte range lies outside of the resource.
417|Expectation Failed|RFC 9110|The server cannot do what the Expect header asks.
418|(Unused)|RFC 9110|Reserved because of a joke: "I'm a teapot" (RFC 2324).
421|Misdirected Request|RFC 9110|The connection led to a server that does not answer for this host.
422|Unprocessable Content|RFC 9110|Well-formed, but its contents make no sense to the server; validation failed.
423|Locked|RFC 4918|The resource is locked (WebDAV).
424|Failed Dependency|RFC 4918|Another request that this one builds on has failed (WebDAV).
425|Too Early|RFC 8470|The request might be a replay of early TLS data; send it again later.
426|Upgrade Required|RFC 9110|The server wants another protocol; Upgrade tells which.
428|Precondition Required|RFC 6585|The server wants a condition such as If-Match, against lost updates.
429|Too Many Requests|RFC 6585|The client is over its rate limit; Retry-After may tell how long to wait.
431|Request Header Fields Too Large|RFC 6585|A header, or all of them, are larger than the server takes.
451|Unavailable For Legal Reasons|RFC 7725|Withheld because the law or a court demands it.
500|Internal Server Error|RFC 9110|Something unexpected went wrong in the server.
501|Not Implemented|RFC 9110|The server does not know how to do this method at all.
502|Bad Gateway|RFC 9110|A server behind this one sent an answer that makes no sense.
503|Service Unavailable|RFC 9110|Overloaded or down for maintenance; Retry-After may tell for how long.
504|Gateway Timeout|RFC 9110|A server behind this one did not answer in time.
505|HTTP Version Not Supported|RFC 9110|The server does not speak this version of HTTP.
506|Variant Also Negotiates|RFC 2295|Content negotiation at the server leads in a circle.
507|Insufficient Storage|RFC 4918|The server has no room to store what the request brings (WebDAV).
508|Loop Detected|RFC 5842|The server met an endless loop in the request (WebDAV).
510|Not Extended|RFC 2774|Obsoleted: the request lacked an extension that the server wanted.
511|Network Authentication Required|RFC 6585|The network itself wants a login first, as on a hotel's Wi-Fi.`;

/** By code. */
export const statuses: ReadonlyMap<string, Status> = new Map(
  TABLE.split("\n").map((line) => {
    const [code = "", name = "", specification = "", meaning = ""] = line.split("|");
    const category = categories[Number(code[0]) - 1]!;
    return [code, { code: Number(code), name, category, meaning, specification }];
  }),
);
