import { type Selectable, sql } from 'kysely'
import type { Db, PaymentsTables, Trx } from '../database.ts'
import type { ChainHead, LedgerHead } from './check-links.ts'
import type { Move } from './currency-move.ts'
import { type Finding, INVARIANTS } from './invariants.ts'

const PAGE_ROWS = 500

/** Tables below a merchant. A row in one of them proves that the merchant existed. */
const TRACES = [
  'state_entries',
  'journals',
  'entries',
  'trail_entries',
  'lines',
  'transactions',
  'instruments',
  'cards',
  'disputes',
  'acquirer_operations',
  'acquirer_exceptions',
  'payouts',
  'account_snapshots',
] as const

/** All merchants with a row or a balance, by id; then merchants of which only rows below them are left. */
export async function* streamLedgerIds(db: Db): AsyncGenerator<string> {
  // The first page begins with an id that is empty. No migration allows one, but it may have been inserted by hand.
  for (let after: string | undefined; ; ) {
    const isBehind = (id: string) => (after === undefined ? sql`${sql.ref(id)} >= ''` : sql`${sql.ref(id)} > ${after}`)
    const page = sql<{ id: string }>`
      SELECT id FROM (
        (SELECT id FROM ${sql.table('merchants')} WHERE ${isBehind('id')} ORDER BY id LIMIT ${PAGE_ROWS})
        UNION
        (SELECT merchant_id FROM ${sql.table('merchant_balances')}
          WHERE ${isBehind('merchant_id')} ORDER BY merchant_id LIMIT ${PAGE_ROWS})
      ) known (id) ORDER BY id LIMIT ${PAGE_ROWS}`
    const { rows } = await runOnSnapshot(db, (trx) => page.execute(trx))
    yield* rows.map(({ id }) => id)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE_ROWS) break
    after = last.id
  }
  const orphans = new Set<string>()
  const unnamed = sql`SELECT FROM ${sql.table('merchants')} WHERE id IS NULL LIMIT 1`
  if ((await runOnSnapshot(db, (trx) => unnamed.execute(trx))).rows.length > 0) orphans.add('')
  for (const table of TRACES) {
    const page = sql<{ id: string }>`
      SELECT DISTINCT t.merchant_id AS id FROM ${sql.table(table)} t
      WHERE NOT EXISTS (SELECT FROM ${sql.table('merchants')} m WHERE m.id = t.merchant_id)
        AND NOT EXISTS (SELECT FROM ${sql.table('merchant_balances')} b WHERE b.merchant_id = t.merchant_id)
      LIMIT ${PAGE_ROWS}`
    const { rows } = await runOnSnapshot(db, (trx) => page.execute(trx))
    for (const { id } of rows) orphans.add(id)
  }
  yield* orphans
}

/**
 * Reads as of one moment. Row-level security would hide rows silently; with row_security off PostgreSQL refuses the
 * query instead.
 */
export function runOnSnapshot<T>(db: Db, read: (trx: Trx) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql`SET LOCAL row_security = off`.execute(trx)
      return read(trx)
    })
}

/** The balance of a merchant, with the ends of its chains. Amounts are minor units, the offset of the clock seconds. */
export interface VerifiedBalance extends LedgerHead {
  readonly currency: string
  readonly clockOffset: bigint
  readonly states: ChainHead
}

/** The rows and sums of a merchant that `ledger verify` reads once, before the chains. */
export interface VerifiedRows {
  readonly merchant: Pick<PaymentsTables['merchants'], 'currency' | 'test'> | undefined
  readonly balance: VerifiedBalance | undefined
  /** The number of entries. */
  readonly entries: bigint
  /** The sums of the payouts that the bank has not settled, in minor units, by currency. */
  readonly unsettled: ReadonlyMap<string, bigint>
  /** The move of the merchant to its currency. Undefined: it has always had it. */
  readonly move: Move | undefined
}

/** The rows of a merchant about its ledger, and sums over the rows below it. */
export async function findVerifiedRows(trx: Trx, merchantId: string): Promise<VerifiedRows> {
  const merchant = await trx
    .selectFrom('merchants')
    .select(['currency', 'test'])
    .where('id', '=', merchantId)
    .executeTakeFirst()
  const row = await trx
    .selectFrom('merchant_balances')
    .selectAll()
    .where('merchant_id', '=', merchantId)
    .executeTakeFirst()
  const { rows: counted } = await sql<{ entries: bigint }>`
    SELECT count(*) AS entries FROM ${sql.table('entries')} e WHERE e.merchant_id = ${merchantId}`.execute(trx)
  const { rows: waiting } = await sql<{ currency: string; amount: bigint }>`
    SELECT p.currency, sum(p.amount)::bigint AS amount FROM ${sql.table('payouts')} p
    WHERE p.merchant_id = ${merchantId} AND p.status IN ('created', 'exported') GROUP BY p.currency`.execute(trx)
  const unsettled = new Map(waiting.map(({ currency, amount }) => [currency, amount]))
  const { rows: moves } = await sql<Move>`
    SELECT j.cause_id AS "formerCurrency", j.id AS "journalId" FROM ${sql.table('journals')} j
    WHERE j.merchant_id = ${merchantId} AND j.kind = 'currencyOpened' ORDER BY j.id LIMIT 1`.execute(trx)
  return { merchant, balance: row && toBalance(row), entries: counted[0]?.entries ?? 0n, unsettled, move: moves[0] }
}

function toBalance(row: Selectable<PaymentsTables['merchant_balances']>): VerifiedBalance {
  const { balance, currency, line_count: lineCount, clock_offset: clockOffset } = row
  const states = { length: row.state_length, head: row.state_head }
  return { balance, currency, lineCount, clockOffset, length: row.chain_length, head: row.chain_head, states }
}

/** Sums the accounts of a merchant up to the end of the last day that is over. A second call changes nothing. */
export async function callSnapshotAccounts(db: Db, merchantId: string): Promise<void> {
  await sql`SELECT ${sql.table('snapshot_accounts')}(${merchantId})`.execute(db)
}

/** The tables that the proof covers, each with a key of its rows. */
const KEYED_TABLES = [
  'merchants',
  'merchant_balances',
  'instruments',
  'transactions',
  'cards',
  'disputes',
  'acquirer_operations',
  'acquirer_exceptions',
  'payouts',
  'journals',
  'trail_entries',
  'lines',
  'state_entries',
] as const

type KeyedTable = (typeof KEYED_TABLES)[number]

/** A row that shares its id with another, or has none. */
export interface UnnamedRow {
  readonly table: KeyedTable
  readonly id: string
  readonly findings: readonly Finding[]
}

const UNNAMED_MAX = 100

/**
 * The rows of a merchant that share an id, and those without any. A stream of rows by their ids can pass such a row over, and a
 * row that stands twice is each time as it was recorded.
 */
export async function listUnnamedRows(db: Db, merchantId: string): Promise<readonly UnnamedRow[]> {
  const unnamed: UnnamedRow[] = []
  for (const table of KEYED_TABLES) unnamed.push(...(await listTable(db, merchantId, table)))
  return unnamed
}

async function listTable(db: Db, merchantId: string, table: KeyedTable): Promise<readonly UnnamedRow[]> {
  const owner = sql.raw(table === 'merchants' ? 'r.id' : 'r.merchant_id')
  const id = sql.raw(table === 'merchant_balances' ? 'r.merchant_id' : 'r.id')
  const { rows } = await sql<{ id: string; isNamed: boolean }>`
    SELECT coalesce(${id}, '') AS id, coalesce(${id}, '') <> '' AS "isNamed" FROM ${sql.table(table)} r
    WHERE ${owner} = ${merchantId} GROUP BY ${id}
    HAVING count(*) > 1 OR coalesce(${id}, '') = '' LIMIT ${UNNAMED_MAX}`.execute(db)
  return rows.map(({ id, isNamed }): UnnamedRow => {
    const message = isNamed ? 'is there more than once' : 'has no id: it was put in by hand'
    return { table, id, findings: [[INVARIANTS.recordedRows, message]] }
  })
}
