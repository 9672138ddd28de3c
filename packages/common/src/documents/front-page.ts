import { hash } from 'node:crypto'
import Negotiator from 'negotiator'
import { escapeHtml } from './html.ts'
import { PAGE_ICON, PAGE_STYLE, renderTitle } from './page-style.ts'

export interface FrontPage {
  readonly title: string
  /** One sentence. Text between backticks is shown as code, both here and in `about` of each link. */
  readonly about: string
  readonly groups: readonly LinkGroup[]
  /** The page to which a link above the heading leads back. */
  readonly back?: { readonly label: string; readonly href: string }
  /** HTML between the sentence and the links (`before`) and below the links (`after`). The caller escapes foreign values. */
  readonly before?: string
  readonly after?: string
  /** The script of the page, and CSS that only this page needs. */
  readonly script?: string
  readonly style?: string
}

/** Links with a heading, shown as one list. If labels are long, their descriptions are shown below them. */
export interface LinkGroup {
  readonly heading: string
  readonly hasLongLabels?: boolean
  readonly links: readonly PageLink[]
}

/** A link. Without `href`, a text such as the path of a file. `more` contains links to its parts, shown in one line below. */
export interface PageLink {
  readonly label: string
  readonly href?: string
  readonly about: string
  readonly more?: readonly { readonly label: string; readonly href: string }[]
}

export interface RenderedPage {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

export interface ServicePage extends Pick<FrontPage, 'title' | 'about'> {
  readonly readme: string
}

/** Renders the front page of a service, with links to its API and state, and the path of its README. */
export function renderServicePage({ title, about, readme }: ServicePage): RenderedPage {
  const api = [
    { label: 'API', href: '/docs', about: 'Every endpoint, to read and to try.' },
    { label: 'OpenAPI', href: '/openapi.json', about: 'The same for programs and generators.' },
  ]
  const state = [
    { label: 'Health', href: '/health', about: 'Whether the process lives.' },
    { label: 'Ready', href: '/ready', about: 'Whether it takes requests, and which of its checks fails.' },
    { label: readme, about: 'Its first run, URLs, commands and settings.' },
  ]
  return renderFrontPage({
    title,
    about,
    groups: [
      { heading: 'Use it', links: api },
      { heading: 'Run it', links: state },
    ],
  })
}

/** Renders the page `Not found`. @param about a sentence about the start page, to which a button leads */
export function renderNotFound(about: string): RenderedPage {
  const main = `${renderTitle('Not found')}<p>This address has no page. ${escapeHtml(about)}</p>
<p class="actions"><a class="button" href="/">Start page</a></p>`
  return renderPage({ title: 'Not found', bodyClass: 'single', main, style: PAGE_STYLE })
}

export function renderFrontPage(page: FrontPage): RenderedPage {
  const { title, about, groups, back, before = '', after = '', script, style = '' } = page
  const nav = back && `<nav><a href="${escapeHtml(back.href)}">← ${escapeHtml(back.label)}</a></nav>`
  const main = `${nav ?? ''}<header>${renderTitle(title)}<p>${renderText(about)}</p></header>
${before}${groups.map(renderGroup).join('')}${after}`
  return renderPage({ title, main, style: PAGE_STYLE + STYLE + style, script })
}

interface PageParts {
  readonly title: string
  readonly bodyClass?: string
  readonly main: string
  readonly style: string
  readonly script?: string | undefined
}

function renderPage({ title, bodyClass, main, style, script }: PageParts): RenderedPage {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escapeHtml(title)}</title>
<link rel="icon" href="${PAGE_ICON}"><style>${style}</style></head>
<body${bodyClass === undefined ? '' : ` class="${bodyClass}"`}><main>${main}</main>${script === undefined ? '' : `<script>${script}</script>`}</body></html>
`
  const policy = [
    "default-src 'none'",
    `style-src '${digestOf(style)}'`,
    ...(script === undefined ? [] : [`script-src '${digestOf(script)}'`]),
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    vary: 'accept',
    'x-content-type-options': 'nosniff',
  }
  return { html, headers }
}

/**
 * Returns whether a client prefers an HTML page, according to its `Accept` header. Only browsers do. API clients accept JSON or
 * anything, or send no `Accept` header.
 */
export function wantsPage(accept: string | undefined): boolean {
  return new Negotiator({ headers: { accept: (accept ?? '').toLowerCase() } }).mediaTypes().includes('text/html')
}

function renderGroup({ heading, hasLongLabels, links }: LinkGroup): string {
  return `<section><h2>${escapeHtml(heading)}</h2><ul${hasLongLabels ? ' class="long"' : ''}>${links.map(renderLink).join('')}</ul></section>\n`
}

/** Renders a link as a row. A click anywhere in the row follows the link, except on the links of the last line. */
function renderLink({ label, href, about, more = [] }: PageLink): string {
  const name =
    href === undefined ? `<code>${renderPath(label)}</code>` : `<a href="${escapeHtml(href)}">${escapeHtml(label)}</a>`
  const others = more.map((one) => `<a href="${escapeHtml(one.href)}">${escapeHtml(one.label)}</a>`).join(' · ')
  const line = more.length > 0 ? `<span>${others}</span>` : ''
  return `<li>${name}<span>${renderText(about)}</span>${line}</li>`
}

/** Returns the HTML of a text. Text between backticks is shown as code. */
export function renderText(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

/** Returns the HTML of a path. A long path breaks after a slash instead of at a hyphen of a name. */
function renderPath(path: string): string {
  return path
    .split(/(?<=\/)/)
    .map((name) => `<span>${escapeHtml(name)}</span>`)
    .join('<wbr>')
}

function digestOf(text: string): string {
  return `sha256-${hash('sha256', text, 'base64')}`
}

const STYLE = `header { margin-bottom: 1.75rem }
section ul { list-style: none; margin: 0; padding: 0; background: var(--card); border: 1px solid var(--line);
 border-radius: var(--radius) }
li { position: relative; display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: .1rem 1rem; padding: .7rem 1rem }
li + li { border-top: 1px solid var(--line) }
li span { color: var(--soft) }
li > span:nth-of-type(2) { grid-column: 2 }
li > a::after { content: ''; position: absolute; inset: 0 }
li span a { position: relative; font-weight: 400 }
li:hover > a { text-decoration-thickness: .15em }
a { font-weight: 600; overflow-wrap: anywhere }
code span { white-space: nowrap } li code span { color: inherit }
.steps li { display: block }
.long li { grid-template-columns: minmax(0, 1fr) }
:is(p, td, .steps span) > code, article li code { padding: .1em .3em; color: var(--text); background: var(--card); border: 1px solid var(--line);
 border-radius: .3rem; box-decoration-break: clone }
.steps span > code, .notice p > code { background: var(--page) }
.notice { margin: 0 0 1.75rem; padding: 1rem 1.25rem; background: var(--card); border: 1px solid var(--line);
 border-inline-start: .35rem solid var(--good); border-radius: var(--radius) }
.notice.bad { border-inline-start-color: var(--bad) }
.notice h2 { margin: 0; font-size: 1.2rem; color: var(--text) }
.notice p { margin: .4rem 0 0; overflow-wrap: anywhere }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
.notice .command { justify-content: space-between; margin-top: .9rem }
.notice h3 { margin: 0; font-size: .95rem; font-weight: 600 }
.notice .command code { flex-basis: 100% }
summary { margin-top: .6rem; cursor: pointer; font-weight: 600; color: var(--accent) }
@media (max-width: 36rem) { li { grid-template-columns: minmax(0, 1fr) } li > span:nth-of-type(2) { grid-column: 1 } }
`

/** The page `Not found` of a service, for browsers. API clients get an error body instead. */
export const serviceNotFound = renderNotFound('The start page links to the API and to the state of this service.')
