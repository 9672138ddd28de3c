import { createHash } from 'node:crypto'
import { breakable, escapeHtml } from '@trestle/common/documents/escape-html.ts'
import { PAGE_ICON, PAGE_STYLE, renderTitle } from '@trestle/common/documents/page-style.ts'

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

const STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64')

/**
 * The page between a mail's link and its effect, with MAILER_LINK_MODE `confirm`. Programs that scan mails
 * open the page, but only a human presses the button. The page works without scripts, and by keyboard.
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
<link rel="icon" href="${PAGE_ICON}">
<style>${PAGE_STYLE}</style>
</head>
<body class="single">
<main>
${renderTitle(title)}
<p>${host === '' ? 'Press the button to continue.' : `You will continue to ${breakable(host)}.`}</p>
<form method="post" action="?" class="actions">${inputs.join('')}<button type="submit">${button}</button></form>
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
    'img-src data:',
    `form-action 'self' ${source}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
