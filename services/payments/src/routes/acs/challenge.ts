import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { bankPage, concludingPage, latePage, lostPage, returnPage } from '../../pages/bank-page.ts'
import { preferredLocale } from '../../pages/local-money.ts'
import { pageHeaders } from '../../pages/page.ts'
import { answerBank, type Decision } from '../../use-cases/answer-bank.ts'

const StateQuery = z.object({ state: z.string() })
const DecisionBody = StateQuery.extend({ decision: z.enum(['approve', 'decline']).optional() })

/** The page of the simulated bank, in a frame or between two pages of the shop (reference: Simulated bank). */
export const bankRoutes: FastifyPluginAsyncZod = async (app) => {
  const posOrigin = URL.parse(app.deps.posUrl)?.origin
  const show = async (request: FastifyRequest, reply: FastifyReply, text: string, decision?: Decision) => {
    const found = await answerBank(app.deps, text, decision)
    if (!found)
      return reply
        .code(400)
        .headers(pageHeaders({ frameAncestors: '*' }))
        .send(lostPage())
    const { state, challenge, hints } = found
    const returnUrl = state.returns ? challenge.returnUrl : null
    // Only our own payment page is redirected to at once: browsers apply the policy of forms to redirects that follow a
    // form.
    const isOwn = returnUrl !== null && posOrigin !== undefined && new URL(returnUrl).origin === posOrigin
    reply.headers(pageHeaders({ frameAncestors: '*', formTargets: isOwn ? [posOrigin] : [] }))
    if (!hints) {
      const locale = preferredLocale(request.headers['accept-language'])
      return reply.send(bankPage({ state, challenge, locale, text }))
    }
    if (returnUrl === null) return reply.send(concludingPage(hints, challenge.origin ?? '*'))
    if (hints.length === 0) return reply.send(latePage(returnUrl))
    return isOwn ? reply.redirect(returnUrl, 303) : reply.send(returnPage(returnUrl))
  }
  app.get('/acs/challenge', { schema: { hide: true, querystring: StateQuery } }, (request, reply) =>
    show(request, reply, request.flaw ? '' : request.query.state),
  )
  app.post('/acs/challenge', { schema: { hide: true, body: DecisionBody } }, (request, reply) =>
    request.flaw ? show(request, reply, '') : show(request, reply, request.body.state, request.body.decision),
  )
}
