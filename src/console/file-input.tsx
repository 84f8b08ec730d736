/** A field for a file. */
import { useEffect, useRef, useState } from "hono/jsx/dom";
import { printableText } from "../server/kernel/core/text.ts";
import { fileRefusalOf, type FileBounds, type SendFile } from "./files.ts";

/** Maximum length of a message, in characters. */
const MESSAGE = 1000;
const OTHER_WAYS = "Or drop one here, or enter its URI.";
const LOST = "The connection was lost. Trying again.";

interface FileInputProps {
  /** The id of the field for the URI. */
  id: string;
  label: string;
  bounds: FileBounds;
  send: SendFile;
  /** The field for the URI. */
  children?: unknown;
}

interface FileState {
  /** The share that was sent, while the file is sent. */
  share?: number;
  says: string;
  isWrong?: true;
}

/** Sends a file that is chosen or dropped, and enters its URI into the field for it. A URI can be typed there, too. */
export const FileInput = ({ id, label, bounds, send, children }: FileInputProps) => {
  const [{ share, says, isWrong }, setState] = useState<FileState>({ says: OTHER_WAYS });
  const [isOver, setOver] = useState(false);
  const stop = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stop.current?.abort(), []);

  const take = async (file: File | undefined) => {
    if (file === undefined) return;
    stop.current?.abort();
    const own = new AbortController();
    stop.current = own;
    const field = document.getElementById(id) as HTMLInputElement;
    field.value = "";
    /** Says something of this file, unless another one was chosen. */
    const say = (state: FileState) => stop.current === own && setState(state);
    const refusal = fileRefusalOf(file, bounds);
    if (refusal !== undefined) return say({ says: refusal, isWrong: true });
    let sent = 0;
    const show = (now: number | undefined) => {
      sent = now ?? sent;
      say({ share: sent, says: now === undefined ? LOST : `Sending ${file.name}` });
    };
    show(0);
    try {
      const uri = await send(file, { show, signal: own.signal });
      if (stop.current === own) field.value = uri;
      say({ says: `${file.name} was sent.` });
    } catch (error) {
      const why = own.signal.aborted ? `${file.name} was not sent.` : (error as Error).message;
      say({ says: why, isWrong: true });
    }
  };
  const drag = (event: DragEvent) => {
    event.preventDefault();
    setOver(event.type === "dragover");
    if (event.type === "drop") void take(event.dataTransfer?.files[0]);
  };
  return (
    <div class={isOver ? "drop over" : "drop"} onDragOver={drag} onDragLeave={drag} onDrop={drag}>
      <input
        type="file"
        aria-label={`Choose a file for ${label}`}
        accept={bounds.accept.join(",")}
        onClick={({ target }: Event) => {
          // The same file can be chosen again.
          (target as HTMLInputElement).value = "";
        }}
        onChange={({ target }: Event) => void take((target as HTMLInputElement).files?.[0])}
      />
      {share !== undefined && (
        <p class="acts">
          <progress aria-label="Sent" value={share} />
          <button type="button" onClick={() => stop.current?.abort()}>
            Cancel
          </button>
        </p>
      )}
      <p role="status" class={isWrong ? "wrong small" : "dim small"}>
        {printableText(says.slice(0, MESSAGE))}
      </p>
      {children}
    </div>
  );
};
