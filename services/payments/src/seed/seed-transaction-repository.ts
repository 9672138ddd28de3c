import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'

type Db = Kysely<PaymentsTables>

/** The instant that an id carries. */
export const createdOf = (id: string) => sql<Date>`${sql.table('created_at')}(${sql.table('id_number')}(${id}))`

/** A card as it is kept, and what the simulator does with it. */
export interface SeedInstrument {
  readonly id: string
  readonly sealed: Buffer
  readonly keyId: number
  readonly mac: Buffer
  readonly bin: string
  readonly last4: string
  /** `2066-08-31`. */
  readonly expiry: string
  readonly scheme: string | null
  readonly scenario: object
}

/** A transaction of a customer, authorized in full. */
export interface SeededTransaction {
  readonly id: string
  readonly merchantId: string
  readonly currency: string
  readonly amount: number
  /** RFC 3339; undefined: the instant of the id. */
  readonly created: string | undefined
  readonly instrument: SeedInstrument
}

/** What of a merchant its transactions need. */
export interface SeedOwner {
  readonly tag: string
  readonly test: boolean
}

export function findSeedMerchant(db: Db, id: string): Promise<SeedOwner | undefined> {
  return db.selectFrom('merchants').select(['tag', 'test']).where('id', '=', id).executeTakeFirst()
}

/** A new id below a merchant. */
export async function newIdBelow(db: Db, { tag }: SeedOwner): Promise<string> {
  const { rows } = await sql<{ id: string }>`SELECT id FROM ${sql.table('new_id')}(${tag})`.execute(db)
  const [made] = rows
  if (!made) throw new Error('new_id made no id')
  return made.id
}

/** Whether the merchant has the transaction. */
export async function hasTransaction(db: Db, merchantId: string, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('transactions')
    .select('id')
    .where('merchant_id', '=', merchantId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row !== undefined
}

/** Inserts a transaction with its card. An id that does not end in the merchant's tag is listed as an alias. */
export async function insertSeedTransaction(db: Db, transaction: SeededTransaction): Promise<void> {
  const { id, merchantId, instrument } = transaction
  await sql`
    INSERT INTO ${sql.table('instruments')}
      (merchant_id, id, created, pan_sealed, key_id, pan_mac, bin, last4, expiry, scheme, scenario)
    VALUES (${merchantId}, ${instrument.id}, ${createdOf(instrument.id)}, ${instrument.sealed}, ${instrument.keyId},
      ${instrument.mac}, ${instrument.bin}, ${instrument.last4}, ${instrument.expiry}::date, ${instrument.scheme},
      ${JSON.stringify(instrument.scenario)}::jsonb)`.execute(db)
  await sql`
    INSERT INTO ${sql.table('transactions')} (merchant_id, id, created, instrument_id, test, currency, amount, descriptor,
      pending, recurring, successful, code_present)
    SELECT m.id, ${id}, coalesce(${transaction.created ?? null}::timestamptz, ${createdOf(id)}), ${instrument.id}, m.test,
      ${transaction.currency}, ${transaction.amount}, m.descriptor, ${transaction.amount}, false, true, true
    FROM ${sql.table('merchants')} m WHERE m.id = ${merchantId}`.execute(db)
  await sql`
    INSERT INTO ${sql.table('id_aliases')} (id, merchant_id)
    SELECT ${id}, m.id FROM ${sql.table('merchants')} m WHERE m.id = ${merchantId} AND m.tag <> right(${id}, 8)`.execute(
    db,
  )
  // Ids go on from the greatest one, also where that lies ahead of the clock.
  await sql`
    UPDATE ${sql.table('merchant_balances')} SET last_id = greatest(last_id, left(${id}, 16) || right(last_id, 8))
    WHERE merchant_id = ${merchantId}`.execute(db)
}
