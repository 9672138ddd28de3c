import { randomUUID } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { payOutMerchants } from '../src/use-cases/pay-out-merchants.ts'
import { customerPayment } from './customer-payment.ts'
import { capture } from './operations.ts'
import { operatorHeaders } from './operators.ts'
import { createTestMerchant, type TestApp, type TestPayments } from './payments-app.ts'
import { type ShownPayout, TEST_IBAN } from './payout-requests.ts'

const DAY_SECONDS = 86_400n

/** Makes a live merchant with a balance in a currency that may be paid out. Returns its id. */
export async function payableMerchant(
  payments: TestPayments,
  member: TestApp,
  currency: string,
  changes: object = {},
): Promise<string> {
  const values = { currency, bank: { iban: TEST_IBAN }, name: `Shop of ${currency}`, ...changes }
  const { id } = await createTestMerchant(payments, member, values)
  await makePayable(payments, member, { merchantId: id, currency, days: 3n })
  return id
}

/** Captures a payment, and moves the merchant's clock some days on from now. A capture that is younger than two days is not paid out. */
async function makePayable(
  payments: TestPayments,
  member: TestApp,
  { merchantId, currency, days }: { readonly merchantId: string; readonly currency: string; readonly days: bigint },
): Promise<void> {
  const paid = await customerPayment(payments, merchantId, { amount: 100_000, currency })
  await capture(payments, member, paid, 100_000)
  const ahead = { clock_offset: days * DAY_SECONDS }
  await payments.database.db.updateTable('merchant_balances').set(ahead).where('merchant_id', '=', merchantId).execute()
}

/** A live merchant that was paid out, and the payout. */
interface PaidOut {
  readonly merchantId: string
  readonly payoutId: string
}

/** As `payableMerchant`, and pays the merchant out. */
export async function paidOutLiveMerchant(
  payments: TestPayments,
  member: TestApp,
  currency: string,
  changes: object = {},
): Promise<PaidOut> {
  const merchantId = await payableMerchant(payments, member, currency, changes)
  return { merchantId, payoutId: await payOutLive(payments, merchantId) }
}

/** Makes a live merchant with several payouts that wait for a batch. Their ids stand in the order in which they were made. */
export async function merchantOfWaitingPayouts(
  payments: TestPayments,
  member: TestApp,
  count: number,
): Promise<{ readonly merchantId: string; readonly payoutIds: readonly string[] }> {
  const { merchantId, payoutId } = await paidOutLiveMerchant(payments, member, 'EUR')
  const payoutIds = [payoutId]
  while (payoutIds.length < count) {
    await makePayable(payments, member, { merchantId, currency: 'EUR', days: 3n * BigInt(payoutIds.length + 1) })
    payoutIds.push(await payOutLive(payments, merchantId))
  }
  return { merchantId, payoutIds }
}

/** Pays a merchant out. Returns the id of the payout. */
async function payOutLive(payments: TestPayments, merchantId: string): Promise<string> {
  const { pools, config } = payments.deps
  for await (const turn of payOutMerchants({ db: payments.service.db, pools, config }, { only: merchantId })) {
    if ('payout' in turn) return turn.payout
  }
  throw new Error(`merchant ${merchantId} was not paid out`)
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
