import { expect } from 'vitest'
import { customerPayment } from './customer-payment.ts'
import { capture } from './operations.ts'
import type { TestApp, TestPayments } from './payments-app.ts'

/** The fields of a dispute that tests read. */
export interface ShownDispute {
  readonly id: string
  readonly created: string
  readonly resolved?: string
}

/** Requests about disputes, sent by one of the service's apps. */
export function disputeRequests(payments: TestPayments, member: TestApp) {
  const post = (url: string, payload: object | string = {}, headers: object = {}) =>
    payments.app.inject({ method: 'POST', url, headers: { ...member.headers, ...headers }, payload })
  return {
    post,
    get: (url: string, headers: object = {}) =>
      payments.app.inject({ url, headers: { ...member.headers, ...headers } }),
    /** Pays and captures at a merchant, and returns the transaction id. */
    captured: async (merchantId: string, amount = 300): Promise<string> => {
      const transactionId = await customerPayment(payments, merchantId)
      await capture(payments, member, transactionId, amount)
      return transactionId
    },
    /** Opens a dispute of a transaction. It must succeed. */
    open: async (transactionId: string, payload: object = {}): Promise<ShownDispute> => {
      const response = await post(`/test/transactions/${transactionId}/disputes`, payload)
      expect(response.statusCode).toBe(201)
      return response.json().dispute
    },
    close: (id: string, outcome: string, headers: object = {}) =>
      post(`/test/disputes/${id}/outcomes`, { outcome }, headers),
    /** The transaction amounts that disputes change, and those that they keep. */
    amounts: (id: string) =>
      payments.database.db
        .selectFrom('transactions')
        .select(['captured', 'refunded', 'disputed', 'lost', 'trail_length'])
        .where('id', '=', id)
        .executeTakeFirst(),
  }
}
