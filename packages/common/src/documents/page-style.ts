import { escapeHtml } from './html.ts'

/** The logo of Trestle: two posts and a beam. */
const POSTS_AND_BEAM = 'M1 3h14v3h-2l1 8h-3l-1-8H6l-1 8H2l1-8H1z'

/** Returns the URL of a 16 × 16 icon for a browser tab. `path` is the path data of an SVG. */
export function iconOf(path: string): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3563d9" d="${path}"/></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

export const PAGE_ICON = iconOf(POSTS_AND_BEAM)

export function renderTitle(title: string): string {
  return `<div class="title"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="${POSTS_AND_BEAM}"/></svg><h1>${escapeHtml(title)}</h1></div>`
}

/** The colours that the page of an API document has in common with the other pages. */
export const LIGHT_COLOURS = {
  page: '#f4f5f8',
  card: '#fff',
  text: '#1a1d24',
  accent: '#2450c0',
  line: '#dfe2ea',
} as const
export const DARK_COLOURS = {
  page: '#101318',
  card: '#191d24',
  text: '#e8eaf0',
  accent: '#93b1ff',
  line: '#2d333e',
} as const

/**
 * The stylesheet of all pages, for light and dark schemes and widths from 320 px. It contains colours, the page width, headings,
 * buttons, the focus, and the card of a page that shows one thing. The body of such a page has the class `single`. Colours are
 * named by their purpose. Texts have a contrast of at least 4.5 in both schemes.
 */
export const PAGE_STYLE = `:root { color-scheme: light dark; --page: ${LIGHT_COLOURS.page}; --card: ${LIGHT_COLOURS.card}; --field: #fff; --line: ${LIGHT_COLOURS.line}; --edge: #7c8496;
 --text: ${LIGHT_COLOURS.text}; --soft: #565d6d; --accent: ${LIGHT_COLOURS.accent}; --accent-hover: #1b3f9c; --on-accent: #fff; --good: #14713d;
 --bad: #b3261e; --notice: #fff4d6; --on-notice: #5c4400; --radius: .75rem; --radius-small: .5rem;
 font: 100%/1.5 system-ui, sans-serif }
@media screen and (prefers-color-scheme: dark) { :root { --page: ${DARK_COLOURS.page}; --card: ${DARK_COLOURS.card}; --field: ${DARK_COLOURS.page}; --line: ${DARK_COLOURS.line};
 --edge: #7f8798; --text: ${DARK_COLOURS.text}; --soft: #a2a9b8; --accent: ${DARK_COLOURS.accent}; --accent-hover: #b5caff; --on-accent: #10182b;
 --good: #6fd49a; --bad: #ff9d94; --notice: #3d3113; --on-notice: #ffe1a1 } }
*, *::before { box-sizing: border-box }
body { margin: 0; color: var(--text); background: var(--page) }
main { max-width: 48rem; margin: 0 auto; padding: clamp(1rem, 5vw, 3.5rem) clamp(.75rem, 4vw, 1.5rem) }
nav { display: flex; flex-wrap: wrap; gap: .5rem; justify-content: space-between; align-items: center; margin-bottom: 1rem }
header p { margin: .5rem 0 0; color: var(--soft); font-size: 1.05rem }
h1 { margin: 0; line-height: 1.25; letter-spacing: -.02em }
h2 { margin: 1.75rem 0 .5rem; font-size: .95rem; font-weight: 600; color: var(--soft) }
h1, h2 { text-wrap: balance; hyphens: auto; overflow-wrap: anywhere }
p, li { text-wrap: pretty }
h1, .title { font-size: clamp(1.5rem, 6vw, 2.1rem) }
.title { display: flex; gap: .4em; align-items: flex-start }
.title svg { flex: none; width: 1em; height: 1em; margin-top: .125em; fill: var(--accent) }
a { color: var(--accent); text-underline-offset: .2em }
code, pre { font: .9em/1.5 ui-monospace, monospace } pre code { font-size: 1em }
button, .button { min-height: 2.75rem; padding: .5rem 1.25rem; font: inherit; font-weight: 600; color: var(--on-accent);
 background: var(--accent); border: 1px solid var(--accent); border-radius: var(--radius-small); cursor: pointer }
.button { display: inline-block; text-align: center; text-decoration: none }
button:hover, .button:hover { background: var(--accent-hover); border-color: var(--accent-hover) }
button.quiet { color: var(--text); background: transparent; border-color: var(--edge) }
button.quiet:hover { border-color: var(--text) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.actions { display: flex; flex-wrap: wrap; gap: .75rem }
.single { font-size: 1.0625rem }
.single main { width: min(28rem, 100% - 1.5rem); max-width: none; margin: clamp(.75rem, 6vw - .75rem, 4rem) auto; padding: clamp(1.25rem, 5vw, 2rem);
 background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); box-shadow: 0 .5rem 2rem rgb(0 0 0 / 8%) }
.single h1, .single .title { font-size: 1.375rem }
:where(.single) :is(main > h1, .title) { margin-bottom: 1rem }
:where(.single) p { margin: 0 0 1rem; overflow-wrap: anywhere }
.single .actions > * { flex: 1 1 8rem }
.single main > :last-child:not(dialog) { margin-bottom: 0 }
.title h1 { font-size: 1em }
.command { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .4rem 0 0 }
.command code { flex: 1 1 10rem; min-width: 0; max-width: 100%; padding: .5rem .75rem; white-space: pre-wrap; overflow-wrap: anywhere; text-align: start;
 color: var(--text); background: var(--page); border: 1px solid var(--line); border-radius: var(--radius-small) }
.command button { min-height: 2.25rem; padding: .3rem .6rem }
[data-copy] { min-width: 5.25rem }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
`
