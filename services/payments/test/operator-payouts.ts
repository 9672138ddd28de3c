import { randomUUID } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { payOutMerchants } from '../src/use-cases/pay-out-merchants.ts'
import { customerPayment } from './customer-payment.ts'
import { capture } from './operations.ts'
import { operatorHeaders } from './operators.ts'
import { createTestMerchant, type TestApp, type TestPayments } from './payments-app.ts'
import { type ShownPayout, TEST_IBAN } from './payout-requests.ts'

/** Makes a live merchant with a balance in a currency that may be paid out. Returns its id. */
export async function payableMerchant(payments: TestPayments, member: TestApp, currency: string): Promise<string> {
  const bank = { iban: TEST_IBAN }
  const { id } = await createTestMerchant(payments, member, { currency, bank, name: `Shop of ${currency}` })
  const paid = await customerPayment(payments, id, { amount: 100_000, currency })
  await capture(payments, member, paid, 100_000)
  // A capture that is younger than two days is not paid out.
  const ahead = { clock_offset: 3n * 86_400n }
  await payments.database.db.updateTable('merchant_balances').set(ahead).where('merchant_id', '=', id).execute()
  return id
}

/** A live merchant that was paid out, and the payout. */
interface PaidOut {
  readonly merchantId: string
  readonly payoutId: string
}

/** As `payableMerchant`, and pays the merchant out. */
export async function paidOutLiveMerchant(payments: TestPayments, member: TestApp, currency: string): Promise<PaidOut> {
  const only = await payableMerchant(payments, member, currency)
  const { lanes, config } = payments.deps
  for await (const turn of payOutMerchants({ db: payments.service.db, lanes, config }, { only })) {
    if ('payout' in turn) return { merchantId: only, payoutId: turn.payout }
  }
  throw new Error(`merchant ${only} was not paid out`)
}

/** A payout as its merchant sees it. */
export async function findShownPayout(payments: TestPayments, member: TestApp, id: string): Promise<ShownPayout> {
  return (await payments.app.inject({ url: `/payouts/${id}`, headers: member.headers })).json().payout
}

/** Calls a route of payouts as an admin, a change with a key of its own unless one is given. */
export function callPayouts(
  payments: TestPayments,
  method: 'GET' | 'POST',
  path: string,
  { payload, key = randomUUID() }: { readonly payload?: object; readonly key?: string } = {},
): Promise<LightMyRequestResponse> {
  return payments.app.inject({
    method,
    url: `/operator/payouts${path}`,
    headers: { ...operatorHeaders('admin'), ...(method === 'POST' && { 'idempotency-key': key }) },
    ...(payload && { payload }),
  })
}

/** The account that pays, as an operator sends it. */
export const debtor = { name: 'Trestle ApS', iban: 'DK50 0040 0440 1162 43', bic: 'NDEADKKK' }
