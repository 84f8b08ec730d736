import { connect } from "edge-servlets/view";
import { render } from "preact";
import { useState } from "preact/hooks";
import type servlet from "./servlet.ts";
import "./words.css";

// The types of the tool's arguments and result come from the servlet.
const view = await connect<typeof servlet, "my_servlet_words">();

interface Counted {
  word: string;
  count: number;
}

function Words({ words }: { words: Counted[] }) {
  const [text, setText] = useState("");
  const [shown, setShown] = useState(words);
  // A view may call the servlet's tools itself.
  const count = async () => {
    const { structuredContent } = await view.call("my_servlet_words", { text });
    setShown(structuredContent?.words ?? []);
  };
  return (
    <main>
      <form onSubmit={(event) => (event.preventDefault(), void count())}>
        <input
          aria-label="Another text"
          placeholder="Another text"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">Count</button>
      </form>
      <ol>
        {shown.map(({ word, count }) => (
          <li key={word}>
            {word} <meter min={0} max={shown[0]!.count} value={count} aria-label={word} /> {count}
          </li>
        ))}
      </ol>
    </main>
  );
}

// Called at once, and again with the arguments, the result, and whenever the client's colours change.
view.show(({ result }) => {
  const words = result?.structuredContent?.words;
  render(words === undefined ? <p>…</p> : <Words words={words} />, document.body);
});
