import { sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import type { EncryptedPan } from './pan-vault.ts'

/** A card number that is not encrypted with the first key. */
export interface OldPan {
  readonly id: string
  readonly encrypted: Buffer
}

const BATCH_ROWS = 100

/**
 * Locks card numbers of a merchant that are encrypted with another key, until the end of the database transaction. Skips rows
 * that another process has locked, so two rotations never wait for each other. Lock order: by id.
 */
export async function lockOldPans(trx: Trx, merchantId: string, keyId: number): Promise<readonly OldPan[]> {
  return trx
    .selectFrom('instruments')
    .select(['id', 'pan_sealed as encrypted'])
    .where('merchant_id', '=', merchantId)
    .where('key_id', '<>', keyId)
    .orderBy('id')
    .limit(BATCH_ROWS)
    .forUpdate()
    .skipLocked()
    .execute()
}

/** Updates a card number after it was encrypted with another key. */
export async function updateEncryptedPan(
  trx: Trx,
  merchantId: string,
  id: string,
  { encrypted, keyId, mac }: EncryptedPan,
): Promise<void> {
  await trx
    .updateTable('instruments')
    .set({ pan_sealed: encrypted, key_id: keyId, pan_mac: mac })
    .where('merchant_id', '=', merchantId)
    .where('id', '=', id)
    .execute()
}

/** The encrypted secrets of a webhook before the rotation. */
export interface EncryptedWebhookSecrets {
  readonly id: string
  readonly current: Buffer
  readonly previous: Buffer | null
}

/**
 * Locks all webhooks of a merchant, at most ten, until the end of the database transaction. Lock order: by id, so that two
 * rotations cannot deadlock.
 */
export async function lockWebhookSecrets(trx: Trx, merchantId: string): Promise<readonly EncryptedWebhookSecrets[]> {
  return trx
    .selectFrom('webhooks')
    .select(['id', 'secret_sealed as current', 'previous_sealed as previous'])
    .where('merchant_id', '=', merchantId)
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** Stores the newly encrypted secrets of a webhook. The caller has locked the row. */
export async function updateWebhookSecrets(
  trx: Trx,
  merchantId: string,
  { id, current, previous }: EncryptedWebhookSecrets,
): Promise<void> {
  await trx
    .updateTable('webhooks')
    .set({ secret_sealed: current, previous_sealed: previous })
    .where('merchant_id', '=', merchantId)
    .where('id', '=', id)
    .execute()
}

/** The numbers of values that are encrypted with a key. */
export interface KeyUse {
  readonly keyId: number
  /** The number of card numbers. */
  readonly count: number
  /** The number of webhook secrets. */
  readonly webhooks: number
}

/** Counts the card numbers and webhook secrets that are encrypted with each key, by the id of the key. */
export async function countKeyUses(db: Db): Promise<readonly KeyUse[]> {
  const { rows } = await sql<KeyUse>`
    SELECT id AS "keyId", count(*) FILTER (WHERE is_card)::int AS count,
      count(*) FILTER (WHERE NOT is_card)::int AS webhooks
    FROM (
      SELECT key_id::int AS id, true AS is_card FROM ${sql.table('instruments')}
      UNION ALL
      SELECT get_byte(sealed, 0), false
      FROM ${sql.table('webhooks')} w CROSS JOIN unnest(ARRAY[w.secret_sealed, w.previous_sealed]) sealed
      WHERE sealed IS NOT NULL
    ) seals GROUP BY id ORDER BY id`.execute(db)
  return rows
}

/** One value that is encrypted with a key. */
export interface KeySample {
  readonly keyId: number
  readonly merchantId: string
  /** The id of the instrument or of the webhook. */
  readonly id: string
  readonly encrypted: Buffer
}

/** Returns the first card number and the first webhook secret that each key has encrypted. */
export async function findKeySamples(
  db: Db,
): Promise<{ readonly cards: readonly KeySample[]; readonly webhooks: readonly KeySample[] }> {
  const cards = await sql<KeySample>`
    SELECT DISTINCT ON (key_id) key_id::int AS "keyId", merchant_id AS "merchantId", id, pan_sealed AS encrypted
    FROM ${sql.table('instruments')} ORDER BY key_id, id`.execute(db)
  const webhooks = await sql<KeySample>`
    SELECT DISTINCT ON (1) get_byte(secret_sealed, 0) AS "keyId", merchant_id AS "merchantId", id, secret_sealed AS encrypted
    FROM ${sql.table('webhooks')} ORDER BY 1, id`.execute(db)
  return { cards: cards.rows, webhooks: webhooks.rows }
}
