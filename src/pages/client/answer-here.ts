/** Shows the page of a question in a dialog, so that who answers it stays where they are. */

/** Opens what the links `[data-answer]` of a place lead to; `answered` is called once a question is answered. */
export function answerHere(place: HTMLElement, answered: () => void): void {
  place.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[data-answer]");
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void open(link.href, answered);
  });
}

async function open(address: string, answered: () => void): Promise<void> {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "asked");
  dialog.addEventListener("close", () => dialog.remove());
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());

  /** Shows a page; false for one that has no question, or whose view needs a page of its own. */
  const show = (page: Document): boolean => {
    const main = page.querySelector("main");
    if (!main?.querySelector("#answer") || main.querySelector("#view")) return false;
    const heading = document.createElement("h2");
    heading.id = "asked";
    heading.textContent = main.querySelector("h1")!.textContent;
    main.querySelector("h1")!.replaceWith(heading);
    dialog.replaceChildren(...main.childNodes, close);
    return true;
  };
  const leave = () => location.assign(address);

  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    const { target, submitter } = event;
    const body = new FormData(target as HTMLFormElement, submitter);
    const buttons = dialog.querySelectorAll("button");
    for (const one of buttons) one.disabled = true;
    pageAt(address, { method: "POST", body: new URLSearchParams(body as never) }).then(
      ({ page, isFine }) => {
        if (show(page))
          return dialog.querySelector<HTMLElement>("input, textarea, select")?.focus();
        if (!isFine) return leave();
        dialog.close();
        return answered();
      },
      () => {
        // The network is gone, which the page says.
        for (const one of buttons) one.disabled = false;
      },
    );
  });
  const { page } = await pageAt(address);
  if (!show(page)) return leave();
  document.body.append(dialog);
  dialog.showModal();
}

/** The main part of a page: its style is refused here, as the policy of this page does not know it. */
async function pageAt(address: string, init: RequestInit = {}) {
  const response = await fetch(address, init);
  const [main = ""] = /<main[^]*<\/main>/.exec(await response.text()) ?? [];
  const page = new DOMParser().parseFromString(main, "text/html");
  return { page, isFine: response.ok };
}
