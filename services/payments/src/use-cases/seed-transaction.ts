import type { Kysely } from 'kysely'
import { scenarioOfNumber } from '../acquirers/test-numbers.ts'
import { type CardExpiry, lastDay } from '../cards/card-expiry.ts'
import { schemeOf, visibleDigits } from '../cards/card-number.ts'
import type { PaymentsTables } from '../database.ts'
import type { PaymentsDeps } from '../deps.ts'
import {
  findSeedMerchant,
  hasTransaction,
  insertSeedTransaction,
  newIdBelow,
} from '../seed/seed-transaction-repository.ts'

/** A payment of a customer, authorized in full. */
export interface SeedPayment {
  readonly id: string
  readonly merchantId: string
  readonly currency: string
  /** Minor units. */
  readonly amount: number
  readonly card: { readonly number: string; readonly expiry: CardExpiry }
  /** RFC 3339; undefined: the instant of the id. */
  readonly created?: string | undefined
}

/** Inserts a transaction as a customer would have made it. Its card number is sealed at once. */
export async function seedTransaction(
  trx: Kysely<PaymentsTables>,
  { vault }: Pick<PaymentsDeps, 'vault'>,
  { id, merchantId, currency, amount, card: { number, expiry }, created }: SeedPayment,
): Promise<boolean> {
  const merchant = await findSeedMerchant(trx, merchantId)
  if (!merchant) throw new Error(`transaction ${id}: there is no merchant ${merchantId}`)
  if (await hasTransaction(trx, merchantId, id)) return false
  const instrumentId = await newIdBelow(trx, merchant)
  const network = schemeOf(number, merchant)
  await insertSeedTransaction(trx, {
    ...{ id, merchantId, currency, amount, created },
    instrument: {
      id: instrumentId,
      ...vault.seal(number, { merchantId, instrumentId }),
      ...visibleDigits(number),
      expiry: lastDay(expiry),
      scheme: network.verdict === 'unknown' ? null : network.scheme,
      scenario: merchant.test ? scenarioOfNumber(number) : {},
    },
  })
  return true
}
