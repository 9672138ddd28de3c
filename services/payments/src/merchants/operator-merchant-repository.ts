import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Claim, Merchant, Pricing } from './merchant.ts'
import { type MerchantColumns, merchantColumns, toMerchant } from './merchant-repository.ts'

/** A merchant as operators see it. */
export interface OperatedMerchant {
  readonly merchant: Merchant
  /** The name of the acquirer in PAYMENTS_ACQUIRERS. Null: none. Test merchants have the simulator. */
  readonly acquirer: string | null
}

type OperatedColumns = MerchantColumns & { acquirer: string | null }

/** Which merchants an operator lists. An undefined field filters nothing. */
export interface MerchantFilter {
  readonly test: boolean | undefined
  /** A part of the name, the email address or the website. */
  readonly search: string | undefined
  /** Only those with a lower id. */
  readonly before: string | undefined
  readonly limit: number
}

/** The merchants, newest first. */
export async function listAllMerchants(
  db: Db,
  { test, search, before, limit }: MerchantFilter,
): Promise<readonly OperatedMerchant[]> {
  const part = search === undefined ? null : search.toLowerCase()
  const { rows } = await sql<OperatedColumns>`
    SELECT ${merchantColumns}, m.acquirer
    FROM ${sql.table('merchants')} m
    JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id
    WHERE (${test ?? null}::boolean IS NULL OR m.test = ${test ?? null})
      AND (${before ?? null}::text IS NULL OR m.id < ${before ?? null})
      AND (${part}::text IS NULL OR strpos(lower(concat_ws(' ', m.name, m.email, m.website)), ${part}) > 0)
    ORDER BY m.id DESC LIMIT ${limit}`.execute(db)
  return rows.map(toOperated)
}

/** A merchant by its id. Undefined for an unknown id. */
export async function findMerchant(db: Db, id: string): Promise<OperatedMerchant | undefined> {
  const { rows } = await sql<OperatedColumns>`
    SELECT ${merchantColumns}, m.acquirer
    FROM ${sql.table('merchants')} m
    JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id
    WHERE m.id = ${id}`.execute(db)
  return rows.map(toOperated)[0]
}

function toOperated(row: OperatedColumns): OperatedMerchant {
  return { merchant: toMerchant(row), acquirer: row.acquirer }
}

/** An app that may act for a merchant. */
export interface MerchantApp {
  readonly id: string
  readonly name: string | null
}

/** The apps of a merchant, in the order in which they were added, at most `limit`. */
export async function listMerchantApps(
  db: Db,
  { merchantId, limit }: { readonly merchantId: string; readonly limit: number },
): Promise<readonly MerchantApp[]> {
  return db
    .selectFrom('merchant_apps')
    .innerJoin('apps', 'apps.id', 'merchant_apps.app_id')
    .select(['apps.id', 'apps.name'])
    .where('merchant_id', '=', merchantId)
    .orderBy('merchant_apps.created')
    .limit(limit)
    .execute()
}

/** What an operator decides for a merchant. Absent fields stay as they are. */
export interface OperatorChange {
  readonly claim?: Partial<Claim>
  readonly pricing?: Partial<Pricing>
  readonly tdsMode?: Merchant['tdsMode']
  /** Null: none, so that a live merchant charges nothing. */
  readonly acquirer?: string | null
  /** The account that later payouts go to. */
  readonly iban?: string
}

/** What an operator may decide, after the change. */
export type OperatorSettings = Pick<Merchant, 'id' | 'claim' | 'pricing' | 'tdsMode'> & {
  readonly acquirer: string | null
}

/** Changes a merchant, and writes an event. @throws Error when there is no such merchant */
export async function updateOperatorSettings(db: Db, id: string, change: OperatorChange): Promise<OperatorSettings> {
  const { rows } = await sql<OperatorSettings>`
    SELECT f.id, f.claim, f.pricing, f.tds_mode AS "tdsMode", f.acquirer
    FROM ${sql.table('change_merchant')}(${id}, ${JSON.stringify(change)}::jsonb) f`.execute(db)
  const [changed] = rows
  if (!changed) throw new Error(`there is no merchant ${id}`)
  return changed
}
