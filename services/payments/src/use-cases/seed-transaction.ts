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
  type SeededTransaction,
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

/**
 * Inserts a transaction of a test merchant as a customer would have made it. False when it is there already.
 * @throws Error when there is no such merchant, or when it is live: an acquirer would never have heard of the transaction
 */
export async function seedTransaction(
  trx: Kysely<PaymentsTables>,
  deps: Pick<PaymentsDeps, 'vault'>,
  payment: SeedPayment,
): Promise<boolean> {
  const { id, merchantId } = payment
  const merchant = await findSeedMerchant(trx, merchantId)
  if (!merchant) throw new Error(`transaction ${id}: there is no merchant ${merchantId}`)
  if (await hasTransaction(trx, merchantId, id)) return false
  const seeded = sealSeed(deps, payment, { ...merchant, instrumentId: await newIdBelow(trx, merchant) })
  if (!(await insertSeedTransaction(trx, seeded))) throw new Error(`transaction ${id}: merchant ${merchantId} is live`)
  return true
}

/** The transaction as it is inserted: its card number is sealed at once. */
export function sealSeed(
  { vault }: Pick<PaymentsDeps, 'vault'>,
  { id, merchantId, currency, amount, card: { number, expiry }, created }: SeedPayment,
  { test, instrumentId }: { readonly test: boolean; readonly instrumentId: string },
): SeededTransaction {
  const network = schemeOf(number, { test })
  return {
    ...{ id, merchantId, currency, amount, created },
    instrument: {
      id: instrumentId,
      ...vault.seal(number, { merchantId, instrumentId }),
      ...visibleDigits(number),
      expiry: lastDay(expiry),
      scheme: network.verdict === 'unknown' ? null : network.scheme,
      scenario: test ? scenarioOfNumber(number) : {},
    },
  }
}
