import { sql } from 'kysely'
import { keyHint } from '../apps/app.ts'
import type { Db } from '../database.ts'
import type { Claim } from '../merchants/merchant.ts'
import type { Pricing } from '../merchants/pricing.ts'
import type { SeedApp, SeedMerchant } from './seed-file.ts'
import { createdOf } from './seed-transaction-repository.ts'

/** An object of a seed file. The id contains a time of creation. `created` is a time from the file, in RFC 3339. */
export interface SeedObject {
  readonly kind: 'app' | 'merchant' | 'transaction'
  readonly id: string
  readonly created?: string | undefined
}

/**
 * Returns the first object whose time is more than one minute ahead of the database clock, or `undefined` if there is none. One
 * minute is allowed, because the clock of the machine that generated the ids may be ahead.
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

/** Inserts an app with its key. `true` if the app is new. @throws Error if the key belongs to another app */
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

/** The values of a seeded merchant that the file does not contain. */
export interface MerchantDefaults {
  readonly claim: Claim
  readonly pricing: Pricing
}

/**
 * Inserts a merchant with its balance, unless the merchant exists. Its tag is a part of its id if that tag is free. Otherwise the
 * tag is random, and the ids of the merchant's objects need an alias. Returns `true` if the merchant is new.
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

/** Makes an app a member of a merchant. @throws Error if the app does not exist */
export async function insertSeedMember(db: Db, merchantId: string, appId: string): Promise<void> {
  const app = await db.selectFrom('apps').select('id').where('id', '=', appId).executeTakeFirst()
  if (!app) throw new Error(`merchant ${merchantId}: there is no app ${appId}`)
  await sql`
    INSERT INTO ${sql.table('merchant_apps')} (merchant_id, app_id, created)
    VALUES (${merchantId}, ${appId}, now())
    -- A membership that an earlier run has inserted stays as it is.
    ON CONFLICT DO NOTHING`.execute(db)
}

/** Returns the number of trail entries of a transaction. @throws Error if the transaction does not exist */
export async function getTrailLength(db: Db, merchantId: string, id: string): Promise<number> {
  const { trail_length } = await db
    .selectFrom('transactions')
    .select('trail_length')
    .where('merchant_id', '=', merchantId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return trail_length
}
