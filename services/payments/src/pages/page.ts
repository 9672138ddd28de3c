import { type Html, html } from '@trestle/common/documents/html.ts'
import type { TextName, Translate } from './locale.ts'

export interface Page {
  /** The title in the browser. It is also the heading, unless `main` contains a heading. */
  readonly title: string
  /** A BCP 47 tag. */
  readonly language: string
  readonly main: Html
  /** The path of the page's script, on the same origin. */
  readonly script?: string | undefined
  /** The paths of stylesheets in addition to the common one. */
  readonly styles?: readonly string[] | undefined
  /** The URL of the favicon. By default there is none, because the page represents a shop and not Trestle. */
  readonly icon?: string | undefined
  readonly head?: Html | undefined
}

/** Returns a page as HTML. The page loads everything from its own origin. */
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

/** Returns the known facts of a payment as HTML. A value that does not fit next to its name stands below it. */
export function factList(facts: readonly (readonly [TextName, string | Html])[], say: Translate): Html {
  return html`<dl>${facts.map(([name, value]) => html`<div><dt>${say(name)}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** Returns an amount in large type. Long amounts are smaller, so that the currency stays next to the number on narrow screens. */
export function sumOf(amount: string): Html {
  return html`<p class="sum${amount.length > SHORT_SUM ? ' long' : ''}">${amount}</p>`
}

const SHORT_SUM = 13

/** The other origins that a page may reach. */
export interface PageReach {
  /** Origins that forms may lead to, directly or by redirects. */
  readonly formTargets?: readonly string[]
  /** Origins that its script may call, and whose pages it may show in frames. */
  readonly partners?: readonly string[]
  /** The origins that may show the page in a frame. The default is none. */
  readonly frameAncestors?: "'none'" | '*'
}

/** Returns the headers of a page. The page loads only from its own origin, and browsers send its URL to no other page. */
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
