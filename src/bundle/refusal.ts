/** What stops a bundle: which file, what is wrong and what to do, for the person at the terminal. */
export class Refusal extends Error {}
