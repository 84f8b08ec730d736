// The API that library.yaml describes, for this machine: npm run local
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

const BOOKS = [
  { isbn: "9780262640688", title: "Notes on the Engine", author: "Ada Lovelace" },
  { isbn: "9780140449105", title: "The Odyssey", author: "Homer" },
];

/** The status and the body of the response. */
async function answered(request) {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  const [, isbn] = /^\/books\/([^/]+)\/loans$/.exec(pathname) ?? [];
  const book = BOOKS.find((one) => one.isbn === isbn);
  if (request.method === "GET" && pathname === "/books") {
    const author = searchParams.get("author") ?? "";
    return [200, { books: BOOKS.filter((one) => one.author.includes(author)) }];
  }
  if (request.method === "POST" && book !== undefined) {
    const { reader } = await json(request);
    return [201, { book, reader }];
  }
  return [404, { error: "There is no such book." }];
}

async function answer(request, response) {
  const [status, body] = await answered(request).catch(({ message }) => [400, { error: message }]);
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

createServer((request, response) => void answer(request, response)).listen(8788, "localhost", () =>
  console.log("The library answers at http://localhost:8788"),
);
