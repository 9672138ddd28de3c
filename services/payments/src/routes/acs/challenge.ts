import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { bankPage, concludingPage, latePage, lostPage, returnPage } from '../../pages/bank-page.ts'
import { preferredLocale } from '../../pages/local-money.ts'
import { pageHeaders } from '../../pages/page.ts'
import { answerBank, type BankAnswer, type Decision } from '../../use-cases/answer-bank.ts'

const StateQuery = z.object({ state: z.string() })
const DecisionBody = StateQuery.extend({ decision: z.enum(['approve', 'decline']).optional() })

/** The page of the simulated bank, in a frame or between two pages of the shop (reference: Simulated bank). */
export const bankRoutes: FastifyPluginAsyncZod = async (app) => {
  const show = async (request: FastifyRequest, reply: FastifyReply, text: string, decision?: Decision) => {
    const answer = await answerBank(app.deps, text, decision)
    if (answer) return sendAnswer(reply, answer, { text, accepted: request.headers['accept-language'] })
    return reply
      .code(400)
      .headers(pageHeaders({ frameAncestors: '*' }))
      .send(lostPage())
  }
  app.get('/acs/challenge', { schema: { hide: true, querystring: StateQuery } }, (request, reply) =>
    show(request, reply, request.flaw ? '' : request.query.state),
  )
  app.post('/acs/challenge', { schema: { hide: true, body: DecisionBody } }, (request, reply) =>
    request.flaw ? show(request, reply, '') : show(request, reply, request.body.state, request.body.decision),
  )
}

function sendAnswer(
  reply: FastifyReply,
  answer: BankAnswer,
  { text, accepted }: { readonly text: string; readonly accepted: string | undefined },
): FastifyReply {
  const { posOrigin } = answer
  reply.headers(pageHeaders({ frameAncestors: '*', formTargets: posOrigin === undefined ? [] : [posOrigin] }))
  switch (answer.outcome) {
    case 'open':
      return reply.send(bankPage({ ...answer, locale: preferredLocale(accepted), text }))
    case 'concluded':
      return reply.send(concludingPage(answer.hints, answer.origin ?? '*'))
    case 'late':
      return reply.send(latePage(answer.returnUrl))
    case 'returned':
      // Only our own payment page is redirected to at once: browsers apply the policy of forms to redirects that follow
      // a form.
      if (posOrigin !== undefined) return reply.redirect(answer.returnUrl, 303)
      return reply.send(returnPage(answer.returnUrl))
  }
}
