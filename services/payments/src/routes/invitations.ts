import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { hashToken } from '../invitations/invitation.ts'
import { invitationPage } from '../invitations/invitation-page.ts'
import { callAcceptInvitation, findInvitation } from '../invitations/invitation-repository.ts'
import { pageHeaders } from '../pages/page.ts'
import { refuseBeyond } from '../plugins/refuse-beyond.ts'

const InvitationParams = z.object({ token: z.string() })
/** The address is the secret: no other site may learn it. */
const PAGE_HEADERS = pageHeaders()

/**
 * The page that the link in the mail of an invitation opens. Who guesses tokens is limited like who guesses keys
 * (reference: Invitations).
 */
export const invitationsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { lanes, limits } = app.deps
  const refuseGuess = refuseBeyond(app, 'failure', limits.failures)
  const show = async (token: string, reply: FastifyReply) => {
    const invitation = await findInvitation(lanes, hashToken(token))
    if (!invitation) await refuseGuess(reply.request.ip)
    const { status, html } = invitationPage(invitation)
    return reply.code(status).headers(PAGE_HEADERS).send(html)
  }
  app.get('/invitations/:token', { schema: { hide: true, params: InvitationParams } }, ({ params: { token } }, reply) =>
    show(token, reply),
  )
  app.post(
    '/invitations/:token',
    { schema: { hide: true, params: InvitationParams } },
    async ({ flaw, params: { token } }, reply) => {
      if (flaw) throw flaw.error
      const tokenHash = hashToken(token)
      await callAcceptInvitation(lanes, tokenHash)
      // What cannot be accepted says so; else the page is opened anew, so that a reload sends nothing.
      if ((await findInvitation(lanes, tokenHash))?.state !== 'accepted') return show(token, reply)
      return reply.code(303).headers(PAGE_HEADERS).header('location', token).send()
    },
  )
}
