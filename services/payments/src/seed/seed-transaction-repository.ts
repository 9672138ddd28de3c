import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'

/** Returns SQL for the time in an id. The first eight digits of an id are seconds since 1970. */
export const createdOf = (id: string | RawBuilder<string>): RawBuilder<Date> =>
  sql<Date>`${sql.table('created_at')}(${sql.table('id_number')}(${id}))`

/** A card in the form in which it is stored, with its scenario for the simulator. */
export interface SeedInstrument {
  readonly id: string
  readonly encrypted: Buffer
  readonly keyId: number
  readonly mac: Buffer
  readonly bin: string
  readonly last4: string
  /** The last day on which the card is valid, such as `2066-08-31`. */
  readonly expiry: string
  readonly scheme: string | null
  readonly scenario: object
}

/** A customer's transaction, authorized in full. `amount` is in minor units of its currency. */
export interface SeededTransaction {
  readonly id: string
  readonly merchantId: string
  readonly currency: string
  readonly amount: number
  /** In RFC 3339. If it is `undefined`, the time in the id is used. */
  readonly created: string | undefined
  readonly instrument: SeedInstrument
}

export interface SeedTenant {
  readonly tag: string
  readonly test: boolean
}

/** Returns the tag and the mode of a merchant, or `undefined` if the merchant does not exist. */
export function findSeedMerchant(db: Db, id: string): Promise<SeedTenant | undefined> {
  return db.selectFrom('merchants').select(['tag', 'test']).where('id', '=', id).executeTakeFirst()
}

/** Generates an id for an object of a merchant. @throws Error if `new_id` returns no id, which is a fault of that function */
export async function callNewId(db: Db, { tag }: SeedTenant): Promise<string> {
  const { rows } = await sql<{ id: string }>`SELECT id FROM ${sql.table('new_id')}(${tag})`.execute(db)
  const [row] = rows
  if (!row) throw new Error('new_id made no id')
  return row.id
}

export async function hasTransaction(db: Db, merchantId: string, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('transactions')
    .select('id')
    .where('merchant_id', '=', merchantId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row !== undefined
}

export interface SeedRows {
  readonly transaction: string
  readonly card: string
}

/** Converts a transaction and its card to the JSON that the SQL functions take. */
export function seedRows({ id, currency, amount, created, instrument }: SeededTransaction): SeedRows {
  const { encrypted, keyId, mac, ...card } = instrument
  return {
    transaction: JSON.stringify({ id, currency, amount, created }),
    card: JSON.stringify({ ...card, pan_sealed: hexOf(encrypted), key_id: keyId, pan_mac: hexOf(mac) }),
  }
}

/** Formats bytes as text that PostgreSQL reads as `bytea`. */
function hexOf(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`
}

/** Inserts a transaction of a test merchant with its card. Returns `false` if the merchant is live. */
export async function insertSeedTransaction(db: Db, seeded: SeededTransaction): Promise<boolean> {
  const { transaction, card } = seedRows(seeded)
  const { rows } = await sql<{ isSeeded: boolean }>`
    SELECT ${sql.table('seed_transaction')}(${seeded.merchantId}, ${transaction}::jsonb, ${card}::jsonb) AS "isSeeded"
  `.execute(db)
  return rows[0]?.isSeeded === true
}
