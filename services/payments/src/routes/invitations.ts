import { breakable, type Html, html } from '@trestle/common/documents/html.ts'
import { PAGE_ICON, renderTitle } from '@trestle/common/documents/page-style.ts'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { PaymentsConfig } from '../config.ts'
import { errorAnswers, pageAnswers, pageOrErrorAnswers, redirectAnswer } from '../error-body.ts'
import { hashToken, type Invitation } from '../members/invitation.ts'
import { findInvitation } from '../members/invitation-repository.ts'
import { pageHeaders, renderPage } from '../pages/page.ts'
import { refuseBeyond } from '../plugins/limit-effects.ts'
import { type Routes, requireValues } from '../plugins/read-request.ts'
import { pathText } from '../requests/fields.ts'
import { acceptInvitation } from '../use-cases/accept-invitation.ts'

const InvitationParams = z.object({ token: pathText() })
/** The URL of the page is a secret, so these headers keep it from other sites. */
const PAGE_HEADERS = pageHeaders()

/**
 * Serves the page that the link in an invitation mail opens. A request with a wrong token counts as a failed authentication
 * (reference: Invitations).
 */
export const invitationsRoutes: Routes = async (app) => {
  const { pools, rateLimits, config } = app.deps
  const refuseGuess = refuseBeyond(app, 'failure', rateLimits.failures)
  const show = async (invitation: Invitation | undefined, reply: FastifyReply) => {
    if (!invitation) await refuseGuess(reply.request.ip)
    const { status, text } = invitationPage(invitation, config.server)
    return reply.code(status).headers(PAGE_HEADERS).send(text)
  }
  app.get(
    '/invitations/:token',
    {
      schema: {
        operationId: 'showInvitation',
        tags: ['Pages'],
        summary: 'Show an invitation',
        security: [],
        params: InvitationParams,
        response: { ...pageAnswers(200, 410), ...pageOrErrorAnswers(404), ...errorAnswers() },
      },
    },
    async ({ params: { token } }, reply) => show(await findInvitation(pools, hashToken(token)), reply),
  )
  app.post(
    '/invitations/:token',
    {
      schema: {
        operationId: 'acceptInvitation',
        tags: ['Pages'],
        summary: 'Accept an invitation',
        security: [],
        params: InvitationParams,
        response: {
          ...redirectAnswer,
          ...pageAnswers(200, 410),
          ...pageOrErrorAnswers(404),
          ...errorAnswers(400, 409, 413, 415),
        },
      },
    },
    async ({ input, params: { token } }, reply) => {
      requireValues(input)
      const invitation = await acceptInvitation(app.deps, token)
      // Redirect after acceptance, so that a reload does not send the form again. The URL may end in a slash.
      if (invitation?.state !== 'accepted') return show(invitation, reply)
      return reply.code(303).headers(PAGE_HEADERS).header('location', `/invitations/${token}`).send()
    },
  )
}

interface InvitationPage {
  readonly status: 200 | 404 | 410
  readonly text: string
}

type ShownServer = Pick<PaymentsConfig['server'], 'docsEnabled'>

/**
 * Returns the page of an invitation, or a page with status 404 if there is none. A button accepts the invitation, because
 * programs that scan mails open links and must not accept anything.
 */
function invitationPage(invitation: Invitation | undefined, server: ShownServer): InvitationPage {
  if (!invitation) return page(404, 'There is no such invitation', [NO_INVITATION])
  const { merchant, email, inviter, state } = invitation
  if (state === 'accepted') return acceptedPage(invitation, server)
  const advice = `Ask ${inviter ?? 'whoever invited you'} for a new one.`
  if (state === 'expired') return page(410, 'This invitation has expired', [advice])
  const text = html`${inviter ?? 'An app'} invites ${addressOf(email)} to look after ${merchant}. Whoever accepts may:`
  return page(200, `Look after ${merchant}?`, [text], ACCEPT)
}

/** Returns the page that tells a new member where they can use their access. The service itself has no page for members. */
function acceptedPage({ merchant, merchantId, email }: Invitation, { docsEnabled }: ShownServer): InvitationPage {
  const docs = html`<p><a href="/docs">The API documentation</a> shows what else members may do.</p>`
  const address = addressOf(email)
  const next = html`<h2>What now?</h2>
<p>Where your team works with the payments of ${merchant}, sign in as ${address}. Ask whoever invited you for the
address.</p>
<details><summary>For developers</summary>
<p>Programs use an access token of ${address}. This lists the newest payments:</p>
<p class="command"><code tabindex="0">${{ html: breakable(`GET /merchants/${merchantId}/transactions?limit=10`) }}</code></p>
${docsEnabled ? docs : undefined}</details>`
  return page(200, `You look after ${merchant}`, [html`${address} has accepted the invitation.`], next)
}

function addressOf(email: string): Html {
  return html`<span class="address">${{ html: breakable(email) }}</span>`
}

const NO_INVITATION = 'It may have been withdrawn, or the link is incomplete. Ask whoever invited you for a new one.'
const ACCEPT = html`<ul class="rights">
<li><b>See</b> its payments</li>
<li><b>Move its money</b></li>
<li><b>Invite and revoke</b> others</li>
</ul>
<p class="notice">The names were chosen by whoever invites you. Nobody has checked them.</p>
<form method="post" class="actions"><button>Accept the invitation</button></form>
<p class="other">Not you? Close this page.</p>`

function page(
  status: InvitationPage['status'],
  title: string,
  text: readonly (string | Html)[],
  more?: Html,
): InvitationPage {
  const main = html`${{ html: renderTitle(title) }}
${text.map((line) => html`<p>${line}</p>`)}
${more}`
  return { status, text: renderPage({ title, language: 'en', icon: PAGE_ICON, main }) }
}
