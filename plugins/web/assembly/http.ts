// GET by way of Extism's http_request.
import { block, read } from "../../lib/assembly/extism";
import { http_headers, http_request, http_status_code } from "../../lib/assembly/host";
import { Json, quote } from "../../lib/assembly/json";

export class Answer {
  constructor(
    readonly status: i32,
    readonly contentType: string,
    /** Read as UTF-8, whatever the content type says. */
    readonly body: string,
  ) {}
}

/** Fetches `url`. The host ends the call with an error where it does not allow that. */
export function get(url: string): Answer {
  const request = `{"method":"GET","url":${quote(url)},"headers":{"accept":"text/html, text/*;q=0.9, */*;q=0.5"}}`;
  const body = http_request(block(request), 0);
  const headers = http_headers();
  const contentType = headers == 0 ? "" : Json.parse(read(headers)).get("content-type").string();
  return new Answer(http_status_code(), contentType, body == 0 ? "" : read(body));
}
