import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'

/** SQL for the instant in an id: its first eight digits are seconds since 1970. */
export const createdOf = (id: string | RawBuilder<string>): RawBuilder<Date> =>
  sql<Date>`${sql.table('created_at')}(${sql.table('id_number')}(${id}))`

/** A card as it is stored, with the scenario of the simulator. */
export interface SeedInstrument {
  readonly id: string
  readonly encrypted: Buffer
  readonly keyId: number
  readonly mac: Buffer
  readonly bin: string
  readonly last4: string
  /** `2066-08-31`. */
  readonly expiry: string
  readonly scheme: string | null
  readonly scenario: object
}

/** A transaction of a customer, authorized in full. `amount` is in minor units of its currency. */
export interface SeededTransaction {
  readonly id: string
  readonly merchantId: string
  readonly currency: string
  readonly amount: number
  /** RFC 3339. Undefined: the instant in the id. */
  readonly created: string | undefined
  readonly instrument: SeedInstrument
}

/** The columns of a merchant that its transactions need. */
export interface SeedTenant {
  readonly tag: string
  readonly test: boolean
}

/** The tag of a merchant and whether it is a test merchant; undefined when there is none. */
export function findSeedMerchant(db: Db, id: string): Promise<SeedTenant | undefined> {
  return db.selectFrom('merchants').select(['tag', 'test']).where('id', '=', id).executeTakeFirst()
}

/** A new id below a merchant. @throws Error when the database made none, which is an error of `new_id` */
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

/** Returns a transaction and its card as JSON, as the SQL functions take them. */
export function seedRows({ id, currency, amount, created, instrument }: SeededTransaction): SeedRows {
  const { encrypted, keyId, mac, ...card } = instrument
  return {
    transaction: JSON.stringify({ id, currency, amount, created }),
    card: JSON.stringify({ ...card, pan_sealed: hexOf(encrypted), key_id: keyId, pan_mac: hexOf(mac) }),
  }
}

/** The text from which PostgreSQL reads a bytea. */
function hexOf(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`
}

/** Inserts a transaction of a test merchant with its card, and records it. False when the merchant is live. */
export async function insertSeedTransaction(db: Db, seeded: SeededTransaction): Promise<boolean> {
  const { transaction, card } = seedRows(seeded)
  const { rows } = await sql<{ isSeeded: boolean }>`
    SELECT ${sql.table('seed_transaction')}(${seeded.merchantId}, ${transaction}::jsonb, ${card}::jsonb) AS "isSeeded"
  `.execute(db)
  return rows[0]?.isSeeded === true
}
