import { sql } from 'kysely'
import { customerPayment } from './customer-payment.ts'
import { createLiveMerchant, type LiveMerchant } from './live-merchant.ts'
import { type TestApp, type TestPayments, turnOffTriggers } from './payments-app.ts'
import type { StubAcquirer } from './stub-acquirer.ts'

/** Creates a live merchant with a balance in lev. Writes its row directly, because such merchants can no longer be created. */
export async function createMerchantInLev(
  payments: TestPayments,
  app: TestApp,
  north: StubAcquirer,
): Promise<LiveMerchant> {
  const merchant = await createLiveMerchant(payments, app, { north, name: 'Лев ЕООД', email: 'owner@example.com' })
  await payments.database.db.transaction().execute(async (trx) => {
    await turnOffTriggers(trx)
    await trx.updateTable('merchants').set({ currency: 'BGN' }).where('id', '=', merchant.id).execute()
    await trx.updateTable('merchant_balances').set({ currency: 'BGN' }).where('merchant_id', '=', merchant.id).execute()
    await sql`SELECT ${sql.table('record_states')}(${merchant.id}, 'merchants', ARRAY[${merchant.id}])`.execute(trx)
  })
  return merchant
}

/** Pays in lev at the merchant, and captures a part that the acquirer accepts. Returns the transaction id. */
export async function capturedInLev(
  payments: TestPayments,
  merchant: LiveMerchant,
  { amount, captured }: { readonly amount: number; readonly captured: number },
): Promise<string> {
  const id = await customerPayment(payments, merchant.id, { currency: 'BGN', amount })
  if (captured > 0) await merchant.answer(await merchant.book('capture', id, captured), { verdict: 'accepted' })
  return id
}
