import { createHash } from 'node:crypto'
import { escapeHtml } from '@trestle/common/documents/escape-html.ts'

/** The fields of the page's form, and where it ends. */
export interface ConfirmationForm {
  readonly type: string
  readonly token: string
  /** Permitted by the redirect rules. */
  readonly redirectTo: string
}

/** The page of a link with a button, and the Content-Security-Policy that it needs. */
export interface ConfirmationPage {
  readonly html: string
  readonly policy: string
}

const TEXTS: Readonly<Record<string, readonly [title: string, button: string]>> = {
  signup: ['Confirm your email address', 'Confirm'],
  invite: ['Accept the invitation', 'Accept'],
  recovery: ['Reset your password', 'Continue'],
  magiclink: ['Sign in', 'Sign in'],
  email: ['Sign in', 'Sign in'],
  email_change: ['Confirm the change of your email address', 'Confirm'],
}
const OTHER_TEXT = ['Confirm that it is you', 'Continue'] as const

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { display: grid; min-height: 100vh; margin: 0; place-items: center; background: light-dark(#f4f5f7, #16181d) }
main { box-sizing: border-box; width: min(26rem, 100vw - 2rem); padding: 2rem; border-radius: .75rem; text-align: center;
  background: light-dark(#fff, #22252c); box-shadow: 0 1px 3px rgb(0 0 0 / .2) }
h1 { margin: 0 0 .5rem; font-size: 1.375rem; line-height: 1.25 }
p { margin: 0 0 1.5rem; color: light-dark(#4a4f59, #b6bcc8); overflow-wrap: anywhere }
button { width: 100%; padding: .75rem; border: 0; border-radius: .5rem; font: inherit; font-weight: 600; cursor: pointer;
  color: #fff; background: #1f5fbf }
button:hover { background: #184c99 }
button:focus-visible { outline: 3px solid light-dark(#16181d, #fff); outline-offset: 3px }
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/**
 * The page between a mail's link and its effect, with MAILER_LINK_MODE `confirm`. Programs that scan mails open the page, but only a
 * human presses the button. The page works without scripts, and by keyboard.
 */
export function confirmationPage(form: ConfirmationForm): ConfirmationPage {
  const target = new URL(form.redirectTo)
  const [title, button] = (Object.hasOwn(TEXTS, form.type) ? TEXTS[form.type] : undefined) ?? OTHER_TEXT
  return { html: toHtml({ title, button, host: target.host, form }), policy: toPolicy(target) }
}

interface PageParts {
  readonly title: string
  readonly button: string
  /** The host where the form ends; empty for a URL without a host. */
  readonly host: string
  readonly form: ConfirmationForm
}

function toHtml({ title, button, host, form: { type, token, redirectTo } }: PageParts): string {
  const inputs = Object.entries({ token, type, redirect_to: redirectTo }).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${host === '' ? 'Press the button to continue.' : `You will continue to ${escapeHtml(host)}.`}</p>
<form method="post" action="?">${inputs.join('')}<button type="submit" autofocus>${button}</button></form>
</main>
</body>
</html>
`
}

/** Browsers apply `form-action` to the redirects after a form too, so the policy names where the form ends. */
function toPolicy(target: URL): string {
  const isHttp = target.protocol === 'https:' || target.protocol === 'http:'
  // A source of a Content-Security-Policy cannot be an IPv6 host, so the policy permits its scheme.
  const source = isHttp && !target.hostname.startsWith('[') ? target.origin : target.protocol
  return [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    `form-action 'self' ${source}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
