/** Opens question pages in a dialog, so that the user stays on the current page. */

/** Opens links with `data-answer` in a dialog. Calls `answered` after each answered question. */
export function answerHere(answered: () => void): void {
  addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[data-answer]");
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void open(link.href, answered);
  });
}

async function open(address: string, answered: () => void): Promise<void> {
  const dialog = document.createElement("dialog");
  dialog.addEventListener("close", () => dialog.remove());

  /** Shows the `main` element of a question page. Returns false without a question, or if its view needs a page. */
  const show = async (response: Response): Promise<boolean> => {
    // Only `main`: the content security policy of this page blocks the styles in the other page's head.
    const [main = ""] = /<main[^]*<\/main>/.exec(await response.text()) ?? [];
    const page = new DOMParser().parseFromString(main, "text/html").body.firstElementChild;
    const heading = page?.querySelector("h1");
    if (!heading || !page!.querySelector("#answer") || page!.querySelector("#view")) return false;
    dialog.ariaLabel = heading.textContent;
    heading.remove();
    const close = document.createElement("button");
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    dialog.replaceChildren(...page!.childNodes, close);
    return true;
  };

  const send = async ({ target, submitter }: SubmitEvent): Promise<void> => {
    const body = new URLSearchParams(new FormData(target as HTMLFormElement, submitter) as never);
    (submitter as HTMLButtonElement).disabled = true;
    const response = await fetch(address, { method: "POST", body });
    if (await show(response)) return;
    if (!response.ok) return location.assign(address);
    dialog.close();
    answered();
  };
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(event);
  });
  if (!(await show(await fetch(address)))) return location.assign(address);
  document.body.append(dialog);
  dialog.showModal();
}
