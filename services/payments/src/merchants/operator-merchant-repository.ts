import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import {
  type FoundPage,
  type ListOfFound,
  type ListOfFoundSource,
  listOfFound,
  type SearchPage,
} from '../pagination/list-of-found.ts'
import { ID_FORM } from '../pagination/page-query.ts'
import type { Claim, Merchant } from './merchant.ts'
import { type MerchantColumns, merchantColumns, toMerchant } from './merchant-repository.ts'
import type { Pricing } from './pricing.ts'

export interface MerchantForOperator {
  readonly merchant: Merchant
  /** The name of the acquirer in PAYMENTS_ACQUIRERS, or `null` if the merchant has none. Test merchants use the simulator. */
  readonly acquirer: string | null
}

type ColumnsForOperator = MerchantColumns & { acquirer: string | null }

/** The filters of an operator's list of merchants. An `undefined` field does not filter. */
export interface MerchantFilter {
  readonly test: boolean | undefined
  /** A part of the name, the email address or the website. */
  readonly search: string | undefined
  /** Selects only merchants with a lower id. */
  readonly before: string | undefined
  readonly limit: number
}

/** Returns the merchants, newest first. */
export async function listAllMerchants(
  db: Db,
  { test, search, before, limit }: MerchantFilter,
): Promise<readonly MerchantForOperator[]> {
  const part = search === undefined ? null : search.toLowerCase()
  const { rows } = await sql<ColumnsForOperator>`
    SELECT ${merchantColumns}, m.acquirer
    FROM ${sql.table('merchants')} m
    JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id
    WHERE (${test ?? null}::boolean IS NULL OR m.test = ${test ?? null})
      AND (${before ?? null}::text IS NULL OR m.id < ${before ?? null})
      AND (${part}::text IS NULL OR strpos(lower(concat_ws(' ', m.name, m.email, m.website)), ${part}) > 0)
    ORDER BY m.id DESC LIMIT ${limit}`.execute(db)
  return rows.map(toMerchantForOperator)
}

/** The filters and the page of an operator's list of merchants. An `undefined` field does not filter. */
export interface MerchantSearch extends SearchPage {
  readonly test: boolean | undefined
  /** An id, a public key, or the beginning of a name, an email address or a website. Case does not matter. */
  readonly search: string | undefined
}

type FoundMerchants = MerchantSearch & { readonly key: string | null }
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const MERCHANTS: ListOfFoundSource<FoundMerchants> = {
  table: 'merchants',
  row: 'm',
  columns: sql`${merchantColumns}, m.acquirer`,
  join: sql`JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id`,
  isId: (search) => ID_FORM.test(search) || UUID.test(search),
  hasId: (p) => sql`m.id = coalesce(
      (SELECT k.id FROM ${sql.table('merchants')} k WHERE k.key = ${p.key}::uuid), lower(${p.search}::text)
    )`,
  beginnings: ['name', 'email', 'website'],
}
const listFoundMerchants = listOfFound<FoundMerchants, ColumnsForOperator>('page_of_merchants', MERCHANTS)
// Each mode has its own statement. A generic plan for both modes could use the partial index of neither.
const listFoundTest = listOfFound<FoundMerchants, ColumnsForOperator>('page_of_test_merchants', {
  ...MERCHANTS,
  filter: () => sql`m.test`,
})
const listFoundLive = listOfFound<FoundMerchants, ColumnsForOperator>('page_of_live_merchants', {
  ...MERCHANTS,
  filter: () => sql`NOT m.test`,
})

export async function listMerchantsForOperator(
  pools: Pools,
  search: MerchantSearch,
): Promise<FoundPage<MerchantForOperator>> {
  const { rows, cutAt } = await listOfMode(search).page(pools, withKey(search))
  return { rows: rows.map(toMerchantForOperator), cutAt }
}

/** Finds merchants by a text, for an operator. Returns the newest of the first matches in each index. */
export async function findNewestMerchants(
  pools: Pools,
  search: MerchantSearch & { readonly search: string },
): Promise<readonly MerchantForOperator[]> {
  return (await listOfMode(search).newest(pools, withKey(search))).map(toMerchantForOperator)
}

function listOfMode({ test }: MerchantSearch): ListOfFound<FoundMerchants, ColumnsForOperator> {
  if (test === undefined) return listFoundMerchants
  return test ? listFoundTest : listFoundLive
}

function withKey<Search extends MerchantSearch>(search: Search): Search & Pick<FoundMerchants, 'key'> {
  return { ...search, key: search.search !== undefined && UUID.test(search.search) ? search.search : null }
}

const forOperatorQuery = prepareOnCoordinator(
  'find_merchant_for_operator',
  (p: { merchantId: string }) => sql<ColumnsForOperator>`
    SELECT ${merchantColumns}, m.acquirer
    FROM ${sql.table('merchants')} m
    JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id
    WHERE m.id = ${p.merchantId} AND b.merchant_id = ${p.merchantId}`,
)

/** Returns a merchant by its id for an operator, or `undefined` if the id is unknown. */
export async function findMerchantForOperator(
  { read }: Pools,
  merchantId: string,
): Promise<MerchantForOperator | undefined> {
  const row = await read.first(forOperatorQuery, { merchantId })
  return row && toMerchantForOperator(row)
}

const modeQuery = prepareOnCoordinator(
  'mode_of_merchant',
  (p: { merchantId: string }) => sql<{ test: boolean }>`
    SELECT m.test FROM ${sql.table('merchants')} m WHERE m.id = ${p.merchantId}`,
)

/** Returns the mode of a merchant and of all its transactions, or `undefined` if the id is unknown. */
export async function findMode({ read }: Pools, merchantId: string): Promise<'live' | 'test' | undefined> {
  const row = await read.first(modeQuery, { merchantId })
  return row && (row.test ? 'test' : 'live')
}

/** The parts of a balance that are not paid out, in minor units of the merchant's currency (reference: Available amount). */
export interface HeldBack {
  readonly reserve: number
  readonly notYetDue: number
}

// No table is named, so a distributed database runs the functions on the coordinator, where they may query all servers.
const heldBackQuery = prepareOnCoordinator(
  'held_back',
  (p: { merchantId: string; delayDays: number }) => sql<{ reserve: bigint; notYetDue: bigint }>`
    SELECT ${sql.table('dispute_reserve')}(${p.merchantId}) AS reserve, ${sql.table('not_yet_due')}(
      ${p.merchantId}, ${sql.table('merchant_now')}(${p.merchantId}) - ${p.delayDays}::int * interval '1 day'
    ) AS "notYetDue"`,
)

/**
 * Returns the parts of a merchant's balance that no payout takes, in minor units of the merchant's currency (reference: Available
 * amount).
 * @param input.delayDays the number of days for which a capture stays in the balance
 */
export async function findHeldBack(
  { read }: Pools,
  input: { readonly merchantId: string; readonly delayDays: number },
): Promise<HeldBack> {
  const { reserve, notYetDue } = await read.one(heldBackQuery, input)
  return { reserve: Number(reserve), notYetDue: Number(notYetDue) }
}

/** Returns a merchant by its id, or `undefined` if the id is unknown. */
export async function findMerchant(db: Db, id: string): Promise<MerchantForOperator | undefined> {
  const { rows } = await sql<ColumnsForOperator>`
    SELECT ${merchantColumns}, m.acquirer
    FROM ${sql.table('merchants')} m
    JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id
    WHERE m.id = ${id}`.execute(db)
  return rows.map(toMerchantForOperator)[0]
}

function toMerchantForOperator(row: ColumnsForOperator): MerchantForOperator {
  return { merchant: toMerchant(row), acquirer: row.acquirer }
}

export interface MerchantApp {
  readonly id: string
  readonly name: string | null
}

/** Returns at most `limit` apps of a merchant, in the order in which they were added. */
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

/** The settings of a merchant that an operator changes. Absent fields stay as they are. */
export interface OperatorSettingsChange {
  readonly claim?: Partial<Claim>
  readonly pricing?: Partial<Pricing>
  readonly tdsMode?: Merchant['tdsMode']
  /** The acquirer, or `null` to remove it. A live merchant without an acquirer cannot charge cards. */
  readonly acquirer?: string | null
  /** The account of later payouts. */
  readonly iban?: string
  /** The owner of that account. If it is `null`, the owner is the company by its name. */
  readonly holder?: string | null
}

/** The settings of a merchant that an operator may change, after the change. */
export type OperatorSettings = Pick<Merchant, 'id' | 'claim' | 'pricing' | 'tdsMode'> & {
  readonly acquirer: string | null
}

/** Changes a merchant, and writes an event. @throws Error if the merchant does not exist */
export async function updateOperatorSettings(
  db: Db,
  id: string,
  change: OperatorSettingsChange,
): Promise<OperatorSettings> {
  const { rows } = await sql<OperatorSettings>`
    SELECT f.id, f.claim, f.pricing, f.tds_mode AS "tdsMode", f.acquirer
    FROM ${sql.table('change_merchant')}(${id}, ${JSON.stringify(change)}::jsonb) f`.execute(db)
  const [changed] = rows
  if (!changed) throw new Error(`there is no merchant ${id}`)
  return changed
}

/** The old `currency`, the `rate` if the move was done, and the `balance` afterwards in minor units. */
type CurrencyMove = Readonly<{ currency: string; rate: string | null; balance: bigint }> & {
  /** `moved` means that the merchant already has the new currency. */
  readonly verdict: 'done' | 'moved' | 'no-fixed-rate'
}

/** Moves a merchant to the euro if it has replaced its currency. Returns `undefined` if the merchant does not exist. */
export async function callMoveCurrency(
  db: Db,
  { merchantId, currency }: { readonly merchantId: string; readonly currency: string },
): Promise<CurrencyMove | undefined> {
  const { rows } = await sql<CurrencyMove>`
    SELECT f.verdict, f.currency, f.rate, f.balance
    FROM ${sql.table('move_currency')}(${merchantId}, ${currency}) f`.execute(db)
  return rows[0]
}
