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
/** The query of a link in a form. The pattern for the API document states that it contains a public key. */
export const LinkQuery = z.string().max(QUERY_LENGTH_MAX).meta({ pattern: KEY_PATTERN })

const AmountBody = z.object({
  link: LinkQuery,
  amount: z.string().max(TYPED_LENGTH_MAX).optional(),
})

/** Serves the page of a payment link (reference: Payment links). */
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
  // Redirect to the URL of the link with the typed amount, which is validated there. A reload then does not submit the form again
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
 * Converts a typed amount to the `value` of a link. If the text is not an amount, returns it unchanged. If a link would accept
 * that text as an amount, appends a blank so that the link rejects it. For example, 1.000 may mean a thousand to the customer,
 * but a link reads it as 1. A card number typed into the wrong field must not become part of a URL, so the result is empty.
 */
function toValue(typed: string, currency: string, locale: string): string {
  if (hasCardNumber(typed)) return ''
  const read = readTypedAmount(typed, currency, locale)
  if (read.verdict === 'read') return formatAmount(currency, BigInt(read.amount))
  return readValue(typed, currency).verdict === 'read' ? `${typed} ` : typed
}

/** Shows the page for the card. If the link has no amount, shows the page for the amount first. */
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
