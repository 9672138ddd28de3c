import { type Html, html } from '@trestle/common/documents/html.ts'
import type { TextName, Translate } from './locale.ts'

export interface Page {
  /** The title in the browser, and the heading unless `main` has one. */
  readonly title: string
  /** BCP 47. */
  readonly language: string
  readonly main: Html
  /** Path of its script, on the same origin. */
  readonly script?: string | undefined
  /** Paths of styles beside the one that all pages have. */
  readonly styles?: readonly string[] | undefined
  /** Address of the picture in the tab of the browser. By default none, because a page of a shop is not ours. */
  readonly icon?: string | undefined
  /** More elements of its head. */
  readonly head?: Html | undefined
}

/** Writes a page. It loads everything from its own origin. */
export function renderPage({ title, language, main, script, styles = [], icon = 'data:,', head }: Page): string {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/assets/page.css">
${styles.map((style) => html`<link rel="stylesheet" href="${style}">`)}
${script === undefined ? undefined : html`<script type="module" src="${script}"></script>`}
${head}
</head>
<body class="single">
<main>
${main}
</main>
</body>
</html>
`.html
}

/** Writes the known facts of a payment. A value that does not fit beside its name stands below it. */
export function factList(facts: readonly (readonly [TextName, string | Html])[], say: Translate): Html {
  return html`<dl>${facts.map(([name, value]) => html`<div><dt>${say(name)}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** Writes an amount large. Long amounts are smaller, so that the currency stays beside its number on narrow screens. */
export function sumOf(amount: string): Html {
  return html`<p class="sum${amount.length > SHORT_SUM ? ' long' : ''}">${amount}</p>`
}

const SHORT_SUM = 13

/** The places beside its own origin that a page may reach. */
export interface PageReach {
  /** Origins that forms may lead to, also by redirects. */
  readonly formTargets?: readonly string[]
  /** Origins that its script may call, and whose pages it may frame. */
  readonly partners?: readonly string[]
  /** The origins that may frame the page. By default none. */
  readonly frameAncestors?: "'none'" | '*'
}

/** The headers of a page. It loads from its own origin only, and its address is sent to nobody. */
export function pageHeaders(reach: PageReach = {}): Record<string, string> {
  const { formTargets = [], partners, frameAncestors = "'none'" } = reach
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ...(partners ? ['connect-src', 'frame-src'].map((kind) => [kind, "'self'", ...partners].join(' ')) : []),
    ["form-action 'self'", ...formTargets].join(' '),
    "base-uri 'none'",
    `frame-ancestors ${frameAncestors}`,
  ]
  return {
    'content-security-policy': policy.join('; '),
    'content-type': 'text/html; charset=utf-8',
    'permissions-policy': 'payment=()',
    'referrer-policy': 'no-referrer',
  }
}
