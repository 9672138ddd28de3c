import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { hasCardNumber } from '../cards/clear-number.ts'
import { pageAnswers, redirectAnswer } from '../error-body.ts'
import { formatAmount } from '../money/minor-units.ts'
import { isPayable, type PaymentLink, QUERY_LENGTH_MAX } from '../payment-links/link.ts'
import { readTypedAmount, readValue, TYPED_LENGTH_MAX } from '../payment-links/link-amount.ts'
import { amountPage } from '../payment-links/link-pages.ts'
import {
  linkQueryOf,
  openVisitedLink,
  type PageVisit,
  sendPage,
  sendPaymentPage,
  visitOf,
} from '../plugins/link-pages.ts'
import { type Routes, requireValues } from '../plugins/read-request.ts'

const KEY_PATTERN = '(^|&)key=[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(&|$)'
/** The query of a link in a form. The API document says that it has a public key. */
export const LinkQuery = z.string().max(QUERY_LENGTH_MAX).meta({ pattern: KEY_PATTERN })

const AmountBody = z.object({
  link: LinkQuery,
  amount: z.string().max(TYPED_LENGTH_MAX).optional(),
})

/** The page of a payment link (reference: Payment links). */
export const posRoutes: Routes = async (app) => {
  app.get(
    '/pos',
    {
      schema: {
        operationId: 'showPaymentLink',
        tags: ['Pages'],
        summary: 'Show the page of a payment link',
        security: [],
        response: { ...pageAnswers(200, 400, 404, 500, 503) },
      },
    },
    showLink,
  )
  // The amount that the customer typed goes into the URL of the link, and is judged there. So a reload sends no form.
  app.post(
    '/pos',
    {
      schema: {
        operationId: 'enterAmount',
        tags: ['Pages'],
        summary: 'Take the amount that a customer has typed',
        security: [],
        body: AmountBody,
        response: { ...redirectAnswer, ...pageAnswers(200, 400, 404, 413, 415, 500, 503) },
      },
    },
    async (request, reply) => {
      const { link: linkQuery, amount: typed = '' } = requireValues(request.body)
      const query = new URLSearchParams(linkQuery)
      const visit = visitOf(request, reply, query)
      const link = await openVisitedLink(visit, query)
      if (!link) return reply
      query.set('value', toValue(typed, link.currency, visit.locale.tag))
      return reply.redirect(`/pos?${query}`, 303)
    },
  )
}

/**
 * Turns a typed amount into the value of a link. What is no amount stays as it is, with a blank where a link would read it: an
 * entry such as 1.000 may be thousands, but a link may have zeros at its end. A card number, typed into the wrong field, must
 * not get into an address.
 */
function toValue(typed: string, currency: string, locale: string): string {
  if (hasCardNumber(typed)) return ''
  const read = readTypedAmount(typed, currency, locale)
  if (read.verdict === 'read') return formatAmount(currency, BigInt(read.amount))
  return readValue(typed, currency).verdict === 'read' ? `${typed} ` : typed
}

/** The page that asks for the card, or first for the amount. */
export async function showLink(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const query = linkQueryOf(request)
  const visit = visitOf(request, reply)
  const link = await openVisitedLink(visit, query)
  if (!link) return reply
  return isPayable(link) ? sendPaymentPage(visit, link) : sendAmountPage(visit, link, query.get('value') ?? '')
}

function sendAmountPage(visit: PageVisit, link: PaymentLink, typed: string): FastifyReply {
  const { amountProblem: problem } = link
  return sendPage(visit, problem ? 400 : 200, amountPage({ link, typed, problem }, visit.locale))
}
