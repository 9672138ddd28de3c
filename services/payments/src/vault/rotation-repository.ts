import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'
import type { SealedPan } from './pan-vault.ts'

/** A card number that is sealed with another key than the first. */
export interface OldSeal {
  readonly id: string
  readonly sealed: Buffer
}

const BATCH = 100

/** A merchant's card numbers that are sealed with another key, locked until the end of the transaction; others have them already. */
export async function lockOldSeals(
  trx: Kysely<PaymentsTables>,
  merchantId: string,
  keyId: number,
): Promise<readonly OldSeal[]> {
  return trx
    .selectFrom('instruments')
    .select(['id', 'pan_sealed as sealed'])
    .where('merchant_id', '=', merchantId)
    .where('key_id', '<>', keyId)
    .orderBy('id')
    .limit(BATCH)
    .forUpdate()
    .skipLocked()
    .execute()
}

/** Keeps a card number under another key. */
export async function updateSeal(
  trx: Kysely<PaymentsTables>,
  merchantId: string,
  id: string,
  { sealed, keyId, mac }: SealedPan,
): Promise<void> {
  await trx
    .updateTable('instruments')
    .set({ pan_sealed: sealed, key_id: keyId, pan_mac: mac })
    .where('merchant_id', '=', merchantId)
    .where('id', '=', id)
    .execute()
}

/** How many card numbers are sealed with each key. */
export async function countSeals(db: Kysely<PaymentsTables>): Promise<readonly { keyId: number; count: number }[]> {
  return db
    .selectFrom('instruments')
    .select(['key_id as keyId', sql<number>`count(*)::int`.as('count')])
    .groupBy('key_id')
    .orderBy('key_id')
    .execute()
}
