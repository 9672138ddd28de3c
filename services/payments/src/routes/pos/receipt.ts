import { pageAnswers } from '../../error-body.ts'
import { receiptPage, troublePage } from '../../payment-links/link-pages.ts'
import { decryptReceipt } from '../../payment-links/receipt.ts'
import { linkQueryOf, sendPage, visitOf } from '../../plugins/link-pages.ts'
import type { Routes } from '../../plugins/read-request.ts'

/** Shows the receipt of a payment. Its URL can be opened more than once (reference: After the payment). */
export const receiptRoutes: Routes = async (app) => {
  app.get(
    '/pos/receipt',
    {
      schema: {
        operationId: 'showReceipt',
        tags: ['Pages'],
        summary: 'Show the receipt of a payment',
        security: [],
        response: { ...pageAnswers(200, 400, 404, 500, 503) },
      },
    },
    (request, reply) => {
      const visit = visitOf(request, reply)
      const receipt = decryptReceipt(app.deps.ciphers.frames, linkQueryOf(request).get('receipt') ?? '')
      if (!receipt) return sendPage(visit, 404, troublePage('receiptUnknown', undefined, visit.locale))
      return sendPage(visit, 200, receiptPage(receipt, visit.locale))
    },
  )
}
