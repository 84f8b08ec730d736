/**
 * Does a text fit a glob, in which `*` stands for any run of characters, and `one`, where it is given, for
 * any one of them? Takes no longer than their lengths multiplied, whoever has written them.
 */
export function fits(glob: string, text: string, one?: string): boolean {
  let at = 0;
  let place = 0;
  /** Behind the last star, and where what it stands for ends so far. */
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
