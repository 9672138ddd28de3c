import { z } from 'zod'
import { ChallengesView } from '../checkout/challenge.ts'
import { PaymentBody } from '../checkout/payment-body.ts'
import { checkoutErrors } from '../error-body.ts'
import { orderKeyMalformed } from '../errors.ts'
import { toOrderRequest } from '../plugins/checkout.ts'
import { idempotentRequestOf } from '../plugins/idempotency-key.ts'
import type { Routes } from '../plugins/read-request.ts'
import { pay } from '../use-cases/pay.ts'

const PaidView = z.object({ authorizationId: z.string(), transactionId: z.string() })

/** `POST /payments`: pays the order of a customer (reference: Orders). */
export const paymentsRoutes: Routes = async (app) => {
  app.post(
    '/payments',
    {
      schema: {
        operationId: 'createPayment',
        tags: ['Checkout'],
        summary: 'Pay with a tokenized card, step by step',
        description:
          'The body is the order. 201: it is paid. 200: the card needs a further step. Take one of `challenges`, of which the best ' +
          'comes first: post the same order to its `path`, and do what the answer says by its `type`. `fetch` answers the hints ' +
          'at once. `background-iframe` and `iframe` name a URL and the fields to post to it in a frame, hidden or visible, ' +
          'which sends the hints by `postMessage`. `redirect` has hints, and names a page that leads back to `returnUrl`. ' +
          '`poll` is asked again at `notBefore`, until it has hints. Append the hints to `hints`, post the order here again, ' +
          'and repeat until the answer is 201 or an error. One `Idempotency-Key` may go with every post of an order.',
        security: [],
        body: PaymentBody,
        response: { 200: ChallengesView, 201: PaidView, ...checkoutErrors(409) },
      },
    },
    async (request, reply) => {
      const orderRequest = toOrderRequest(request)
      const idempotentRequest = idempotentRequestOf(request, orderRequest.order)
      if (idempotentRequest === 'refused') throw orderKeyMalformed()
      const answer = await pay(app.deps, { ...orderRequest, idempotentRequest })
      if (answer.verdict === 'challenged') return reply.code(200).send({ challenges: answer.challenges })
      const { transactionId, replayed } = answer
      if (replayed) reply.header('idempotent-replayed', 'true')
      return reply.code(201).send({ authorizationId: transactionId, transactionId })
    },
  )
}
