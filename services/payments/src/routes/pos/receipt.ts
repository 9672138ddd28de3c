import { receiptPage, troublePage } from '../../payment-links/link-pages.ts'
import { openReceipt } from '../../payment-links/receipt.ts'
import { linkQueryOf, sendPage, visitOf } from '../../plugins/link-pages.ts'
import type { Routes } from '../../plugins/request-input.ts'

/** The receipt of a payment. Its URL can be opened again (reference: After the payment). */
export const receiptRoutes: Routes = async (app) => {
  app.get('/pos/receipt', { schema: { hide: true } }, (request, reply) => {
    const visit = visitOf(request, reply)
    const receipt = openReceipt(app.deps.seals.frames, linkQueryOf(request).get('receipt') ?? '')
    if (!receipt) return sendPage(visit, 404, troublePage('receiptUnknown', undefined, visit.locale))
    return sendPage(visit, 200, receiptPage(receipt, visit.locale))
  })
}
