/**
 * True if a text matches a glob, in which `*` stands for any run of characters, and `one`, if given, for any one
 * character. Takes time proportional to the product of both lengths at most.
 */
export function fits(glob: string, text: string, one?: string): boolean {
  let at = 0;
  let place = 0;
  /** The position after the last star, and the end so far of the run that it matches. */
  let star = 0;
  let end = 0;
  while (place < text.length) {
    if (glob[at] === "*") {
      star = ++at;
      end = place;
    } else if (at < glob.length && (glob[at] === text[place] || glob[at] === one)) {
      at++;
      place++;
    } else if (star > 0) {
      at = star;
      place = ++end;
    } else return false;
  }
  while (glob[at] === "*") at++;
  return at === glob.length;
}
