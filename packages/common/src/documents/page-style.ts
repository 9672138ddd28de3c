import { escapeHtml } from './escape-html.ts'

/** The picture of Trestle: two posts and a beam. */
const POSTS_AND_BEAM = 'M1 3h14v3h-2l1 8h-3l-1-8H6l-1 8H2l1-8H1z'

/** The address of a picture of 16 by 16, for the tab of a browser. `path` is what a path of SVG draws. */
export function iconOf(path: string): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3563d9" d="${path}"/></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

/** The picture of Trestle in the tab of a browser. */
export const PAGE_ICON = iconOf(POSTS_AND_BEAM)

/** The heading of a page of Trestle, with the picture beside it. */
export function renderTitle(title: string): string {
  return `<div class="title"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="${POSTS_AND_BEAM}"/></svg><h1>${escapeHtml(title)}</h1></div>`
}

/** The colours that the page of an API document shares with the other pages. */
export const LIGHT_COLOURS = {
  page: '#f4f5f8',
  card: '#fff',
  text: '#1a1d24',
  accent: '#2450c0',
  line: '#dfe2ea',
} as const
/** The same in the dark. */
export const DARK_COLOURS = {
  page: '#101318',
  card: '#191d24',
  text: '#e8eaf0',
  accent: '#93b1ff',
  line: '#2d333e',
} as const

/**
 * The style that all pages share, in light and dark, from 320 px on: colours, headings, buttons, the focus, and the card of a
 * page that shows one thing. Colours are named by what they are for. Texts have a contrast of 4.5 or more in both schemes.
 */
export const PAGE_STYLE = `:root { color-scheme: light dark; --page: ${LIGHT_COLOURS.page}; --card: ${LIGHT_COLOURS.card}; --field: #fff; --line: ${LIGHT_COLOURS.line}; --edge: #7c8496;
 --text: ${LIGHT_COLOURS.text}; --soft: #565d6d; --accent: ${LIGHT_COLOURS.accent}; --accent-hover: #1b3f9c; --on-accent: #fff; --good: #14713d;
 --bad: #b3261e; --notice: #fff4d6; --on-notice: #5c4400; --radius: .75rem; --radius-small: .5rem;
 font: 100%/1.5 system-ui, sans-serif }
@media (prefers-color-scheme: dark) { :root { --page: ${DARK_COLOURS.page}; --card: ${DARK_COLOURS.card}; --field: ${DARK_COLOURS.page}; --line: ${DARK_COLOURS.line};
 --edge: #7f8798; --text: ${DARK_COLOURS.text}; --soft: #a2a9b8; --accent: ${DARK_COLOURS.accent}; --accent-hover: #b5caff; --on-accent: #10182b;
 --good: #6fd49a; --bad: #ff9d94; --notice: #3d3113; --on-notice: #ffe1a1 } }
*, *::before { box-sizing: border-box }
body { margin: 0; color: var(--text); background: var(--page) }
h1 { margin: 0; line-height: 1.25; letter-spacing: -.02em }
h1, h2 { text-wrap: balance; hyphens: auto; overflow-wrap: anywhere }
p, li { text-wrap: pretty }
.title { display: flex; gap: .4em; align-items: flex-start; font-size: clamp(1.5rem, 6vw, 2.1rem) }
.title svg { flex: none; width: 1em; height: 1em; margin-top: .125em; fill: var(--accent) }
a { color: var(--accent); text-underline-offset: .2em }
code, pre { font: .9em/1.5 ui-monospace, monospace }
button, .button { min-height: 2.75rem; padding: .5rem 1.25rem; font: inherit; font-weight: 600; color: var(--on-accent);
 background: var(--accent); border: 1px solid var(--accent); border-radius: var(--radius-small); cursor: pointer }
.button { display: inline-block; text-align: center; text-decoration: none }
button:hover, .button:hover { background: var(--accent-hover); border-color: var(--accent-hover) }
button.quiet { color: var(--text); background: transparent; border-color: var(--edge) }
button.quiet:hover { border-color: var(--text) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.single main { width: min(28rem, 100% - 1.5rem); margin: clamp(.75rem, 6vw - .75rem, 4rem) auto; padding: clamp(1.25rem, 5vw, 2rem);
 background: var(--card); border: 1px solid var(--line); border-radius: var(--radius) }
.single h1, .single .title { font-size: 1.375rem }
.title h1 { font-size: 1em }
.command { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .4rem 0 0 }
.command code { flex: 1 1 10rem; min-width: 0; max-width: 100%; padding: .5rem .75rem; white-space: pre-wrap; overflow-wrap: anywhere; text-align: start;
 color: var(--text); background: var(--page); border: 1px solid var(--line); border-radius: var(--radius-small) }
.command button { min-height: 2.25rem; padding: .3rem .6rem }
[data-copy] { min-width: 5.25rem }
`
