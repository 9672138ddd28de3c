import { type Html, html } from './html.ts'

/** A page for people. */
export interface Page {
  /** Its name in the browser, and its heading unless `main` has one of its own. */
  readonly title: string
  /** BCP 47. */
  readonly language: string
  readonly main: Html
  /** Path of the script that it needs, of the same origin. */
  readonly script?: string | undefined
  /** Path of a style beside that of all pages. */
  readonly style?: string | undefined
  /** What else stands in its head. */
  readonly head?: Html | undefined
}

/** The text of a page. Everything that it loads comes from the origin that it came from. */
export function renderPage({ title, language, main, script, style, head }: Page): string {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/page.css">
${style === undefined ? undefined : html`<link rel="stylesheet" href="${style}">`}
${script === undefined ? undefined : html`<script src="${script}" defer></script>`}
${head}
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`.html
}

/** What beside itself a page may reach. */
export interface PageReach {
  /** Origins that forms may lead to, a redirect after them too. */
  readonly formTargets?: readonly string[]
  /** Origins that its script may call, and whose pages it may show in a frame. */
  readonly partners?: readonly string[]
  /** Who may show the page in a frame; nobody by default. */
  readonly frameAncestors?: "'none'" | '*'
}

/** The headers of a page: it loads from its own origin alone, and its address is told to nobody. */
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
