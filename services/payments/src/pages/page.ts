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
}

/** The text of a page. Everything that it loads comes from the origin that it came from. */
export function renderPage({ title, language, main, script }: Page): string {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/page.css">
${script === undefined ? undefined : html`<script src="${script}" defer></script>`}
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
  /** Who may show the page in a frame; nobody by default. */
  readonly frameAncestors?: "'none'" | '*'
}

/** The headers of a page: it loads from its own origin alone, and its address is told to nobody. */
export function pageHeaders({ formTargets = [], frameAncestors = "'none'" }: PageReach = {}): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
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
