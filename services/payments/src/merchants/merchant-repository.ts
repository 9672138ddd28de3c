import { columnsOfRow } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { type Access, prepareForCaller, verdictColumns } from '../access/access-query.ts'
import { type Caller, type CallerColumns, type Credentials, callerColumns, callerRow } from '../access/caller.ts'
import { type AccessResult, type Judged, splitVerdict, type Verdict } from '../access/verdict.ts'
import type { PageBounds } from '../pagination/page-query.ts'
import type { Claim, Merchant, MerchantChanges, NewMerchant } from './merchant.ts'
import type { Pricing } from './pricing.ts'

/** The columns that queries select from the merchant `m` and its balance `b`. */
export interface MerchantColumns {
  id: string
  key: string
  name: string | null
  currency: string
  test: boolean
  email: string
  website: string
  descriptor: string
  country: string
  company_number: string | null
  iban: string | null
  holder: string | null
  claim: Claim
  pricing: Pricing
  tds_mode: 'attempt' | 'full'
  balance: bigint
  created: Date
}

/** A verdict and the columns of a merchant. The columns are `null` if no merchant was found. */
type MerchantAccessRow = { verdict: Verdict; identity_id: string | null } & (MerchantColumns | { id: null })

const COLUMNS =
  `id, key, name, currency, test, email, website, descriptor, country, company_number, iban, holder, claim, pricing, tds_mode,
  created`.replaceAll(/\s+/g, ' ')

/** The columns of a merchant and its balance. Each query must use the aliases `m` for the merchant and `b` for the balance. */
export const merchantColumns = sql`${columnsOfRow('m', COLUMNS)}, b.balance`

export interface MerchantResult extends AccessResult {
  readonly merchant: Merchant | undefined
}

/** A merchant to make. `merchant` is null when only access is checked. */
export interface CreateMerchantCall {
  readonly caller: Caller
  readonly merchant: NewMerchant | null
}

const createQuery = prepareOnCoordinator(
  'create_merchant',
  (p: CallerColumns & { merchant: object | null }) => sql<MerchantAccessRow>`
    SELECT f.verdict, f.identity_id, ${columnsOfRow('(f.merchant)', COLUMNS)}, 0::bigint AS balance
    FROM ${sql.table('create_merchant')}(${callerRow(p)}, ${p.merchant}) f`,
)

/** A merchant to create. `merchant` is `null` if only access is checked. */
export async function callCreateMerchant(pools: Pools, input: CreateMerchantCall): Promise<MerchantResult> {
  const { caller, merchant } = input
  const values = merchant && { ...merchant, company_number: merchant.companyNumber }
  return toMerchantResult(await pools.write.one(createQuery, { ...callerColumns(caller), merchant: values }))
}

const readQuery = prepareForCaller(
  'read_merchant',
  ({ fromCaller, joinMembership }, p: Credentials & { merchantId: string }) => sql<MerchantAccessRow>`
    SELECT ${verdictColumns(sql`m.id`)}, ${merchantColumns}
    ${fromCaller}
    LEFT JOIN ${sql.table('merchants')} m ON m.id = ${p.merchantId}
    ${joinMembership(sql`m.id`)}
    LEFT JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = ${p.merchantId}`,
)

/** Reads a merchant for a member. `not-found`: the id is unknown. `forbidden`: the caller is not a member. */
export async function readMerchant(
  pools: Pools,
  input: Credentials & { readonly merchantId: string },
): Promise<MerchantResult> {
  return toMerchantResult(await pools.read.one(readQuery, input))
}

/** A change of a merchant, or `null` for a check of access. `fixed` has values by path that must equal the stored ones. */
export interface UpdateMerchantCall {
  readonly caller: Caller
  readonly merchantId: string
  readonly changes: MerchantChanges | null
  readonly fixed: Readonly<Record<string, unknown>>
}

const updateQuery = prepareOnCoordinator(
  'update_merchant',
  (p: CallerColumns & Omit<UpdateMerchantCall, 'caller'>) => sql<{
    verdict: Verdict
    identity_id: string | null
    differing: string[] | null
  }>`
    SELECT verdict, identity_id, differing
    FROM ${sql.table('update_merchant')}(${callerRow(p)}, ${p.merchantId}, ${p.changes}, ${p.fixed})`,
)

/** Changes a merchant, unless a fixed field differs. `differing` lists the paths of the fixed fields that differ. */
export async function callUpdateMerchant(
  pools: Pools,
  { caller, ...input }: UpdateMerchantCall,
): Promise<AccessResult & { readonly differing: readonly string[] }> {
  const { verdict, identity_id, differing } = await pools.write.one(updateQuery, { ...callerColumns(caller), ...input })
  return { verdict, identityId: identity_id, differing: differing ?? [] }
}

/** The identity and bounds of one page of merchants. `limit` is 0 if only access is checked. */
export interface ListInput extends Credentials, Omit<PageBounds, 'order'> {
  readonly identityId: string
  /** `true` selects only test merchants, `false` only live ones, and `undefined` both. */
  readonly test: boolean | undefined
}

const listQueries = {
  'newest-first': listQuery('list_merchants', sql`DESC`),
  'oldest-first': listQuery('list_merchants_reversed', sql`ASC`),
}

function listQuery(name: string, order: ReturnType<typeof sql>) {
  const build = ({ fromCaller }: Access, p: ListInput, balances: RawBuilder<unknown>) => sql<MerchantAccessRow>`
    SELECT CASE
        WHEN c.identity_id IS NULL THEN 'unauthorized'
        WHEN c.identity_id = ${p.identityId} THEN 'done'
        WHEN EXISTS (SELECT FROM ${sql.table('apps')} WHERE id = ${p.identityId})
          OR EXISTS (SELECT FROM ${sql.table('users')} WHERE id = ${p.identityId}) THEN 'forbidden'
        ELSE 'not-found'
      END AS verdict, c.identity_id, ${merchantColumns}
    ${fromCaller}
    LEFT JOIN LATERAL (
      SELECT * FROM (${membershipPage('app', order, p)} UNION ALL ${membershipPage('user', order, p)}) listed
      ORDER BY listed.id ${order} LIMIT ${p.limit}
    ) m ON true
    ${balances}
    ORDER BY m.id ${order}`
  return prepareForCaller(
    name,
    (access, p: ListInput) =>
      build(access, p, sql`LEFT JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id`),
    {
      ownerOf: () => '',
      build: (access, p) => build(access, p, sql`CROSS JOIN (SELECT NULL::bigint AS balance) b`),
    },
  )
}

const balancesQuery = prepare(
  'balances_of',
  (p: { ids: readonly string[] }) => sql<{ merchant_id: string; balance: bigint }>`
    SELECT b.merchant_id, b.balance FROM ${sql.table('merchant_balances')} b
    WHERE b.merchant_id = ANY (${p.ids}::text[])`,
)

/** Apps and users have separate pages, because PostgreSQL would read all rows to sort both together. */
function membershipPage(noun: 'app' | 'user', order: ReturnType<typeof sql>, p: ListInput): ReturnType<typeof sql> {
  const memberId = sql`s.${sql.id(`${noun}_id`)}`
  return sql`(
        SELECT listed.* FROM ${sql.table(`merchant_${noun}s`)} s
        JOIN ${sql.table('merchants')} listed ON listed.id = s.merchant_id
        WHERE ${memberId} = c.identity_id AND ${memberId} = ${p.identityId} AND NOT s.pending
          AND s.merchant_id > ${p.above} AND s.merchant_id < ${p.below}
          AND (${p.test}::boolean IS NULL OR listed.test = ${p.test}::boolean)
        ORDER BY s.merchant_id ${order} LIMIT ${p.limit}
      )`
}

/** Returns at most `input.limit` merchants that the caller belongs to, by id in `order`. */
export async function listMerchants(
  pools: Pools,
  input: ListInput,
  order: PageBounds['order'],
): Promise<AccessResult & { readonly merchants: readonly Merchant[] }> {
  const rows = await pools.read.all(listQueries[order], input)
  const { verdict = 'unauthorized', identity_id = null } = rows[0] ?? {}
  const found = rows.flatMap((row) => (row.id === null ? [] : [row]))
  // In a distributed database, each node has the merchants, but a balance is on only one node. A second query reads the balances.
  const ids = found.filter(({ balance }) => balance === null).map(({ id }) => id)
  const balances = new Map(
    ids.length === 0 ? [] : (await pools.read.all(balancesQuery, { ids })).map((row) => [row.merchant_id, row.balance]),
  )
  return {
    verdict,
    identityId: identity_id,
    merchants: found.map((row) => toMerchant({ ...row, balance: row.balance ?? balances.get(row.id) ?? 0n })),
  }
}

function toMerchantResult(row: MerchantAccessRow): MerchantResult {
  return { verdict: row.verdict, identityId: row.identity_id, merchant: row.id === null ? undefined : toMerchant(row) }
}

export function toMerchant(row: MerchantColumns): Merchant {
  // Many requests read this row, and naming each field is faster than a rest pattern.
  return {
    id: row.id,
    key: row.key,
    name: row.name,
    currency: row.currency,
    test: row.test,
    email: row.email,
    website: row.website,
    descriptor: row.descriptor,
    country: row.country,
    companyNumber: row.company_number,
    iban: row.iban,
    holder: row.holder,
    claim: row.claim,
    pricing: row.pricing,
    tdsMode: row.tds_mode,
    balance: row.balance,
    created: row.created,
  }
}

/** The longest advance of a test clock: 100 years of 365 days, in seconds. The database limits the sum of all advances. */
export const CLOCK_SECONDS_MAX = 3_153_600_000

/** `advance` is in seconds. It is `null` if only access is checked. */
export interface AdvanceClockCall extends CallerColumns {
  readonly merchantId: string
  readonly advance: number | null
}

/** `now` is the new time. `limit-exceeded`: the clock would run over 100 years ahead, so nothing changed. */
export type AdvancedClock =
  | { readonly verdict: 'advanced'; readonly now: Date }
  | { readonly verdict: 'limit-exceeded' }

type AdvancedRow = { verdict: Verdict | 'limit-exceeded'; identity_id: string | null; moment: Date | null }

const advanceQuery = prepare(
  'advance_clock',
  (p: AdvanceClockCall) => sql<AdvancedRow>`
    SELECT verdict, identity_id, moment
    FROM ${sql.table('advance_clock')}(${callerRow(p)}, ${p.merchantId}, ${p.advance})`,
)

export async function callAdvanceClock(pools: Pools, input: AdvanceClockCall): Promise<Judged<AdvancedClock>> {
  const row = await pools.write.one(advanceQuery, input)
  const [verdict, refusal] = splitVerdict(row.verdict, ['limit-exceeded'])
  const advanced = row.moment === null ? undefined : { verdict: 'advanced' as const, now: row.moment }
  return { verdict, identityId: row.identity_id, outcome: refusal ? { verdict: refusal } : advanced }
}
