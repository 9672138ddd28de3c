import { createHash } from 'node:crypto'
import type { Invitation } from './invitation.ts'

/** What the link of an invitation shows. */
export interface InvitationPage {
  readonly status: 200 | 404 | 410
  readonly html: string
}

const STYLE = `:root{color-scheme:light dark}
body{margin:0;font:1.0625rem/1.5 system-ui,sans-serif;color:#1a1d21;background:#f3f4f6}
main{box-sizing:border-box;max-width:34rem;margin:10vh auto 2rem;padding:2rem;background:#fff;border-radius:.5rem}
h1{margin:0 0 1rem;font-size:1.5rem;line-height:1.25}
p{margin:0 0 1rem;overflow-wrap:anywhere}
button{font:inherit;font-weight:600;padding:.75rem 1.25rem;color:#fff;background:#0b5cad;border:0;border-radius:.375rem}
button:hover{background:#084888}
button:focus-visible{outline:.1875rem solid #0b5cad;outline-offset:.1875rem}
@media (prefers-color-scheme:dark){body{color:#e8eaed;background:#14171a}main{background:#202429}
button{color:#0d1117;background:#7ab8ff}button:hover{background:#a5cfff}button:focus-visible{outline-color:#7ab8ff}}`

/** Nothing is loaded, run or framed; the page may be sent to its own address alone. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Shows an invitation; a button accepts it, since programs that look at mails open links. Undefined: there is none. */
export function invitationPage(invitation: Invitation | undefined): InvitationPage {
  if (!invitation) {
    return page(404, 'There is no such invitation', [
      'It may have been withdrawn, or the link is incomplete. Ask whoever invited you for a new one.',
    ])
  }
  const { merchant, email, inviter, state } = invitation
  if (state === 'accepted') return page(200, `You look after ${merchant}`, [`${email} has accepted the invitation.`])
  if (state === 'expired') {
    return page(410, 'This invitation has expired', [`Ask ${inviter ?? 'whoever invited you'} for a new one.`])
  }
  const text = [
    `${inviter ?? 'An app'} invites ${email} to look after ${merchant}.`,
    'You will see its payments, move its money, and be able to invite and revoke others.',
  ]
  return page(200, `Look after ${merchant}?`, text, ACCEPT_FORM)
}

const ACCEPT_FORM = '<form method="post"><button type="submit">Accept the invitation</button></form>'

function page(status: InvitationPage['status'], title: string, text: readonly string[], form = ''): InvitationPage {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${text.map((line) => `<p>${escapeHtml(line)}</p>`).join('\n')}
${form}
</main>
</body>
</html>
`
  return { status, html }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
