import { sql } from 'kysely'
import { keyHint } from '../apps/app.ts'
import type { Db } from '../database.ts'
import type { Claim } from '../merchants/merchant.ts'
import type { Pricing } from '../merchants/pricing.ts'
import type { SeedApp, SeedMerchant } from './seed-file.ts'
import { createdOf } from './seed-transaction-repository.ts'

/** An object of a seed file: its id, and the instant that the file gives it beside that of the id (RFC 3339). */
export interface SeedObject {
  readonly kind: 'app' | 'merchant' | 'transaction'
  readonly id: string
  readonly created?: string | undefined
}

/**
 * The first object that is more than a minute ahead of the clock of the database. Undefined when there is none. A minute is
 * allowed, because the clock of another machine may be ahead, and so are the milliseconds of ids that it has made.
 */
export async function findLaterObject(
  db: Db,
  objects: readonly SeedObject[],
): Promise<Pick<SeedObject, 'kind' | 'id'> | undefined> {
  const { rows } = await sql<Pick<SeedObject, 'kind' | 'id'>>`
    SELECT s.kind, s.id
    FROM jsonb_to_recordset(${JSON.stringify(objects)}::jsonb) AS s(kind text, id text, created timestamptz)
    WHERE greatest(${createdOf(sql<string>`s.id`)}, s.created) > clock_timestamp() + interval '1 minute'
    LIMIT 1`.execute(db)
  return rows[0]
}

/** Inserts an app with its key, unless it exists. True for a new app. @throws Error when the key is another app's */
export async function insertSeedApp(db: Db, app: SeedApp, mac: Buffer): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('apps')
    .values({ id: app.id, name: app.name ?? null, created: createdOf(app.id) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  await sql`
    INSERT INTO ${sql.table('app_keys')} (id, app_id, mac, hint, created)
    SELECT ids.id, ${app.id}, ${mac}, ${keyHint(app.key)}, ids.created
    FROM ${sql.table('new_id')}(${sql.table('random_tag')}()) ids
    ON CONFLICT (mac) DO NOTHING`.execute(db)
  const { app_id } = await db.selectFrom('app_keys').select('app_id').where('mac', '=', mac).executeTakeFirstOrThrow()
  if (app_id !== app.id) throw new Error(`the key of app ${app.id} is that of app ${app_id}`)
  return numInsertedOrUpdatedRows === 1n
}

/** Values of a seeded merchant that the file does not contain. */
export interface MerchantDefaults {
  readonly claim: Claim
  readonly pricing: Pricing
}

/**
 * Inserts a merchant with its balance. Its tag comes from its id if the tag is free, otherwise it is random, and ids
 * below it then need an alias. An existing merchant stays as it is. True for a new merchant.
 */
export async function insertSeedMerchant(
  db: Db,
  merchant: SeedMerchant,
  { claim, pricing }: MerchantDefaults,
): Promise<boolean> {
  const { id, key, name, currency, test, email, website, descriptor, company, bank } = merchant
  const row = {
    id,
    key,
    name,
    currency,
    test,
    email,
    website,
    descriptor,
    claim,
    pricing,
    country: company.country,
    company_number: company.number,
    iban: bank?.iban,
    holder: bank?.holder,
  }
  const { rows } = await sql<{ isNew: boolean }>`
    SELECT ${sql.table('seed_merchant')}(${JSON.stringify(row)}::jsonb) AS "isNew"`.execute(db)
  return rows[0]?.isNew === true
}

/** Makes an app a member. @throws Error when there is no such app */
export async function insertSeedMember(db: Db, merchantId: string, appId: string): Promise<void> {
  const app = await db.selectFrom('apps').select('id').where('id', '=', appId).executeTakeFirst()
  if (!app) throw new Error(`merchant ${merchantId}: there is no app ${appId}`)
  await sql`
    INSERT INTO ${sql.table('merchant_apps')} (merchant_id, app_id, created)
    VALUES (${merchantId}, ${appId}, now())
    -- A membership that an earlier run has inserted stays as it is.
    ON CONFLICT DO NOTHING`.execute(db)
}

/** The number of trail entries of a transaction. @throws Error when there is no such transaction */
export async function getTrailLength(db: Db, merchantId: string, id: string): Promise<number> {
  const { trail_length } = await db
    .selectFrom('transactions')
    .select('trail_length')
    .where('merchant_id', '=', merchantId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return trail_length
}
