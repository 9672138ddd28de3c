import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { valuesOrNull } from '../../access/require-access.ts'
import { errorAnswersWithoutLimit, pageAnswers, redirectAnswer } from '../../error-body.ts'
import { bankPage, concludingPage, latePage, lostPage, returnPage } from '../../pages/bank-page.ts'
import { choosePageLocale, type PageLocale } from '../../pages/locale.ts'
import { pageHeaders } from '../../pages/page.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { answerBank, type BankAnswer, type Decision } from '../../use-cases/answer-bank.ts'
import { CIPHERTEXT_PATTERN } from '../../vault/encryption.ts'

const StateQuery = z.object({ state: z.string().meta({ pattern: CIPHERTEXT_PATTERN }) })
const DecisionBody = StateQuery.extend({ decision: z.enum(['approve', 'decline']).optional() })

/** Serves the page of the simulated bank, in a frame or between two pages of the shop (reference: Simulated bank). */
export const bankRoutes: Routes = async (app) => {
  const show = async (request: FastifyRequest, reply: FastifyReply, text: string, decision?: Decision) => {
    const answer = await answerBank(app.deps, { text, decision })
    const locale = choosePageLocale(answer?.locale ?? null, request.headers['accept-language'])
    if (answer) return sendAnswer(reply, answer, { text, locale })
    return reply
      .code(400)
      .headers(pageHeaders({ frameAncestors: '*' }))
      .send(lostPage(locale))
  }
  app.get(
    '/acs/challenge',
    {
      schema: {
        operationId: 'showBankPage',
        tags: ['Pages'],
        summary: 'Show the page of the simulated bank',
        security: [],
        querystring: StateQuery,
        response: { ...redirectAnswer, ...pageAnswers(200, 400), ...errorAnswersWithoutLimit() },
      },
    },
    (request, reply) => show(request, reply, valuesOrNull(request.query)?.state ?? ''),
  )
  app.post(
    '/acs/challenge',
    {
      schema: {
        operationId: 'decideAtBank',
        tags: ['Pages'],
        summary: 'Approve or decline a payment at the simulated bank',
        security: [],
        body: DecisionBody,
        response: { ...redirectAnswer, ...pageAnswers(200, 400), ...errorAnswersWithoutLimit(409, 413) },
      },
    },
    (request, reply) => {
      const { state = '', decision } = valuesOrNull(request.body) ?? {}
      return show(request, reply, state, decision)
    },
  )
}

interface ShownPage {
  /** The encrypted state. The form of the page sends it back. */
  readonly text: string
  readonly locale: PageLocale
}

function sendAnswer(reply: FastifyReply, answer: BankAnswer, shown: ShownPage): FastifyReply {
  const { posOrigin } = answer
  reply.headers(pageHeaders({ frameAncestors: '*', formTargets: posOrigin === undefined ? [] : [posOrigin] }))
  // Browsers apply `form-action` to redirects after forms. The policy allows only our payment page.
  if (answer.outcome === 'returned' && posOrigin !== undefined) return reply.redirect(answer.returnUrl, 303)
  return reply.send(pageOf(answer, shown))
}

function pageOf(answer: BankAnswer, { text, locale }: ShownPage): string {
  switch (answer.outcome) {
    case 'open':
      return bankPage({ ...answer, text }, locale)
    case 'concluded':
      return concludingPage(answer.hints, answer.origin ?? '*', locale)
    case 'late':
      return latePage(answer.returnUrl, locale)
    case 'returned':
      return returnPage(answer.returnUrl, locale)
  }
}
