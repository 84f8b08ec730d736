/** The style of all pages: src/server/features/console/README.md describes its scales and its components. */
import { colorsOf, GROUNDS } from "./colors.ts";

/** The only rule that differs between servers: their accent. */
export function accentRule(accent: string): string {
  const { light, dark, ink } = colorsOf(accent);
  return `:root { --accent: light-dark(${light}, ${dark}); --fill: ${accent}; --on-fill: ${ink}; }`;
}

export const style = `
  :root { color-scheme: light dark; --ink: light-dark(#191c23, #e8eaef); --dim: light-dark(#565d6b, #a5acbb);
    --paper: light-dark(#fff, #13161c); --panel: light-dark(${GROUNDS.light}, ${GROUNDS.dark});
    --line: light-dark(#dfe2e8, #2f3540); --edge: light-dark(#7b8392, #7d8594);
    --wrong: light-dark(#b3261e, #ff9b91); --warn: light-dark(#8a4b00, #f0b35a); --good: light-dark(#1a6b3c, #74d39c);
    --small: .8125rem; --body: .9375rem; --large: 1.125rem; --title: 1.5rem; --display: 2rem;
    --radius: .375rem; --round: .75rem; --touch: 2.25rem; }
  * { box-sizing: border-box; }
  body { font: var(--body)/1.6 system-ui, sans-serif; margin: 0; color: var(--ink); background: var(--paper); }
  h1, h2, h3, h4 { line-height: 1.25; margin: 0; text-wrap: balance; overflow-wrap: anywhere; }
  h1 { font-size: var(--title); margin-bottom: .5rem; } h2 { font-size: var(--large); margin: 2rem 0 .5rem; }
  h3 { font-size: var(--body); margin: 1.5rem 0 .5rem; } h4 { font-size: var(--body); margin: 1rem 0 .25rem; }
  p, ul, ol, dl, figure { margin: .5rem 0; } p { overflow-wrap: anywhere; } li { margin: .25rem 0; } ul, ol { padding-left: 1.25rem; }
  a { color: var(--accent); text-underline-offset: .2em; text-decoration-thickness: 1px; }
  code, pre { font: var(--small)/1.6 ui-monospace, monospace; }
  pre { background: var(--panel); border: 1px solid var(--line); border-radius: var(--radius); padding: .5rem .75rem; margin: .5rem 0;
    overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
  dt { color: var(--dim); font-size: var(--small); } dd { margin: 0 0 .5rem; white-space: pre-line; overflow-wrap: anywhere; }
  hr { border: 0; border-top: 1px solid var(--line); margin: 2rem 0 1rem; }
  img.icon { width: 1.5rem; height: 1.5rem; border-radius: var(--radius); object-fit: contain; flex: none; }
  summary { cursor: pointer; } summary:not(.button) { min-height: var(--touch); align-content: center; }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: var(--radius); }
  [hidden], .scripted { display: none !important; } @media (scripting: enabled) { .has-script .scripted { display: block !important; } }
  .dim { color: var(--dim); } .small { font-size: var(--small); } .wrong { color: var(--wrong); }
  .text { white-space: pre-line; overflow-wrap: anywhere; } pre.text { white-space: pre-wrap; }
  .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } time { white-space: nowrap; }
  main:focus { outline: 0; }
  .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

  .top { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: center; min-height: 3.5rem; padding: .25rem 1.5rem;
    border-bottom: 1px solid var(--line); }
  .top a, .top button { display: inline-flex; align-items: center; min-height: 2.75rem; min-width: 0; color: var(--dim); text-decoration: none; }
  .top a:hover, .top button:hover { color: var(--ink); text-decoration: underline; }
  .top .brand { gap: .5rem; color: var(--ink); font-weight: 650; overflow-wrap: anywhere; }
  .top nav { display: flex; flex-wrap: wrap; flex: 1; gap: 0 1.25rem; } .top .person { display: flex; flex-wrap: wrap; gap: 0 1.25rem; align-items: center; margin-left: auto; }
  .top [aria-current] { color: var(--ink); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
  .top .who { max-width: 16rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .top form { display: contents; } .top button { border: 0; font-weight: 400; background: none; padding: 0; width: auto; margin: 0; }
  .top a.skip { position: absolute; left: -100vw; } .top a.skip:focus { left: .5rem; background: var(--paper); padding: 0 .75rem; z-index: 2; }
  main { max-width: 64rem; margin: 0 auto; padding: 2rem 1.5rem 4rem; } main.slim { max-width: 28rem; }
  .lead { font-size: var(--large); color: var(--dim); max-width: 44rem; text-wrap: pretty; }

  label, legend { font-weight: 600; } label { display: block; }
  input, select, textarea { font: inherit; font-size: 1rem; color: inherit; width: 100%; min-height: 2.75rem; padding: .5rem .75rem; margin: .25rem 0 .75rem;
    border: 1px solid var(--edge); border-radius: var(--radius); background: var(--paper); }
  input[type=radio], input[type=checkbox] { width: 1.25rem; height: 1.25rem; min-height: 0; margin: 0 .5rem 0 0; vertical-align: -.25rem; accent-color: var(--accent); }
  fieldset { border: 1px solid var(--line); border-radius: var(--radius); margin: .25rem 0 .75rem; padding: .25rem .75rem .5rem; }
  fieldset label { font-weight: 400; padding: .5rem 0; } [aria-invalid=true] { border-color: var(--wrong); }
  button, .button { font: inherit; font-weight: 600; display: inline-flex; align-items: center; justify-content: center; gap: .5rem; min-height: var(--touch);
    padding: .25rem 1rem; color: var(--ink); background: var(--paper); border: 1px solid var(--edge); border-radius: var(--radius);
    text-decoration: none; cursor: pointer; }
  button:hover, .button:hover { background: var(--panel); } button:disabled { color: var(--dim); cursor: default; }
  .primary, .primary:hover { background: var(--fill); border-color: var(--accent); color: var(--on-fill); } .primary:hover { filter: brightness(1.08); } .primary:disabled { color: var(--on-fill); opacity: .6; }
  .danger { color: var(--wrong); border-color: var(--wrong); }
  summary.button { list-style: none; } summary.button::-webkit-details-marker { display: none; }
  .acts { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; } .acts form { display: contents; }
  .slim form { margin-top: 1.25rem; } .slim > .acts { margin-top: 1.25rem; } .slim form > button { width: 100%; min-height: 2.75rem; margin-top: .5rem; }
  .stack { display: grid; gap: .5rem; margin: 1.25rem 0; } .stack .button { min-height: 2.75rem; overflow-wrap: anywhere; text-align: center; }
  .or { display: flex; gap: .75rem; align-items: center; color: var(--dim); } .or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }

  .card { border: 1px solid var(--line); border-radius: var(--round); padding: 1rem 1.25rem; margin: .75rem 0; min-width: 0; }
  .card > :first-child, .notice > :first-child, .empty > :first-child, main > :first-child { margin-top: 0; }
  .card > :last-child, .notice > :last-child { margin-bottom: 0; }
  .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: .75rem; margin: .75rem 0; padding: 0; list-style: none; } .cards > * { margin: 0; }
  .notice { border-radius: var(--round); padding: .75rem 1rem; margin: .75rem 0; background: var(--panel); border: 1px solid var(--line); overflow-wrap: anywhere; }
  .notice.wrong, .notice.warn, .notice.good { border-color: currentcolor; } .notice.warn { color: var(--warn); } .notice.good { color: var(--good); }
  .badge { display: inline-block; max-width: 100%; padding: 0 .5rem; border-radius: var(--radius); border: 1px solid var(--line); background: var(--panel); color: var(--dim);
    font-size: var(--small); font-weight: 500; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; vertical-align: middle; }
  .badge.good { color: var(--good); } .badge.warn { color: var(--warn); } .badge.wrong { color: var(--wrong); } .badge.accent { color: var(--accent); }
  .empty { padding: 1.5rem; text-align: center; color: var(--dim); border: 1px dashed var(--line); border-radius: var(--round); margin: .75rem 0; } .empty strong { color: var(--ink); }
  .wide { overflow-x: auto; margin: .75rem 0; } table { border-collapse: collapse; width: 100%; }
  caption { text-align: left; font-weight: 600; padding: .25rem 0; } th, td { text-align: left; vertical-align: baseline; padding: .5rem 1rem .5rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
  thead th { color: var(--dim); font-size: var(--small); font-weight: 500; border: 0; white-space: nowrap; } tbody th { font-weight: 600; }
  th:last-child, td:last-child { padding-right: 0; } th.number, td.number { text-align: right; }
  nav [aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }
  .wide button { font-size: var(--small); min-height: 2rem; padding: 0 .75rem; }
  .copied { position: relative; } .copied pre { padding-right: 5.5rem; min-height: 2.75rem; align-content: center; } .copied .copy { position: absolute; top: .375rem; right: .375rem; font-size: var(--small); min-height: 2rem; padding: 0 .75rem; border-color: var(--line); }
  .offline { position: fixed; inset: auto 1rem 1rem; margin: 0 auto; max-width: 28rem; z-index: 3; background: var(--paper); }

  @media (max-width: 40rem) {
    :root { --touch: 2.75rem; --display: 1.75rem; }
    .top { padding: .25rem 1rem; } .top nav { order: 3; flex: 1 0 100%; } .top .person { gap: 0 1rem; } .top .who { display: none; } main { padding: 1.5rem 1rem 3rem; }
    .acts button, .acts .button, .wide button, .copied .copy { min-height: 2.75rem; } .copied pre { padding-top: .75rem; padding-bottom: .75rem; } .copied .copy { top: .125rem; right: .125rem; }
    .stacked, .stacked tbody { display: block; } .stacked thead { display: none; } .stacked caption { display: block; }
    .stacked tr { display: block; border: 1px solid var(--line); border-radius: var(--round); padding: .75rem 1rem; margin: .5rem 0; }
    .stacked th, .stacked td { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; border: 0; padding: .25rem 0; text-align: left; white-space: normal; min-width: 0; }
    .stacked td::before { content: attr(data-label); color: var(--dim); font-size: var(--small); } .stacked td:empty { display: none; }
  }
`;
