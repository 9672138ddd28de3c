import { type Html, html } from '../pages/html.ts'
import { renderPage } from '../pages/page.ts'
import type { Invitation } from './invitation.ts'

/** What the link of an invitation shows. */
export interface InvitationPage {
  readonly status: 200 | 404 | 410
  readonly html: string
}

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
    'The names were chosen by whoever invites you. Nobody has checked them.',
  ]
  return page(200, `Look after ${merchant}?`, text, ACCEPT_FORM)
}

const ACCEPT_FORM = html`<form method="post" class="actions"><button>Accept the invitation</button></form>`

function page(status: InvitationPage['status'], title: string, text: readonly string[], form?: Html): InvitationPage {
  const main = html`<h1>${title}</h1>
${text.map((line) => html`<p>${line}</p>`)}
${form}`
  return { status, html: renderPage({ title, language: 'en', main }) }
}
