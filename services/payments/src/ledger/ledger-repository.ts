import type { Meter } from '@opentelemetry/api'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db, PaymentsTables, Trx } from '../database.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import type { LedgerLink, Link, StateLink, TrailRow } from './chain.ts'
import type { ChainHead, LedgerHead } from './check-links.ts'
import type { Move } from './currency-move.ts'
import { type Finding, INVARIANTS } from './invariants.ts'
import type { EntriesTable, JournalsTable, LinesTable, StateEntriesTable } from './ledger-tables.ts'

const PAGE_ROWS = 500

/** Tables with rows of merchants. A row in one of them proves that the merchant existed. */
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

/** Yields the ids of merchants with a row or a balance, then of merchants that only have rows in other tables. */
export async function* streamLedgerIds(db: Db): AsyncGenerator<string> {
  // Begin the first page at the empty id. No migration allows it, but somebody may have inserted it by SQL.
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
 * Runs reads on one snapshot of the database. Row-level security would hide rows silently, so `row_security` is off. PostgreSQL
 * then refuses the query instead.
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

/** The balance of a merchant and the ends of its chains. Amounts are in minor units, and the clock offset is in seconds. */
export interface VerifiedBalance extends LedgerHead {
  readonly currency: string
  readonly clockOffset: bigint
  readonly states: ChainHead
}

/** The rows and sums of a merchant that `ledger verify` reads once, before it follows the chains. */
export interface VerifiedRows {
  readonly merchant: Pick<PaymentsTables['merchants'], 'currency' | 'test'> | undefined
  readonly balance: VerifiedBalance | undefined
  /** The number of entries of the merchant. */
  readonly entries: bigint
  /** The sums of payouts that the bank has not settled, in minor units by currency. */
  readonly unsettled: ReadonlyMap<string, bigint>
  /** The move of the merchant to its present currency. `undefined` if the currency has never changed. */
  readonly move: Move | undefined
}

/** Returns the merchant's rows about its ledger, and sums over its other rows. */
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

/** Stores the sums of a merchant's accounts up to the end of the last complete UTC day. A second call changes nothing. */
export async function callSnapshotAccounts(db: Db, merchantId: string): Promise<void> {
  await sql`SELECT ${sql.table('snapshot_accounts')}(${merchantId})`.execute(db)
}

/** The tables that the verification covers. Each has a key that should be unique. */
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

/** A row without an id, or an id that several rows share. */
interface UnnamedRow {
  readonly table: KeyedTable
  readonly id: string
  readonly findings: readonly Finding[]
}

const UNNAMED_MAX = 100

/**
 * Returns ids that several rows of a merchant share, and rows without an id. Streams of rows by id can skip such rows, and each
 * copy of a row agrees with the recorded state. So the other checks do not find them.
 */
export async function listUnnamedRows(db: Db, merchantId: string): Promise<readonly UnnamedRow[]> {
  const unnamed: UnnamedRow[] = []
  for (const table of KEYED_TABLES) unnamed.push(...(await listTable(db, merchantId, table)))
  return unnamed
}

async function listTable(db: Db, merchantId: string, table: KeyedTable): Promise<readonly UnnamedRow[]> {
  const tenant = sql.raw(table === 'merchants' ? 'r.id' : 'r.merchant_id')
  const id = sql.raw(table === 'merchant_balances' ? 'r.merchant_id' : 'r.id')
  const { rows } = await sql<{ id: string; isNamed: boolean }>`
    SELECT coalesce(${id}, '') AS id, coalesce(${id}, '') <> '' AS "isNamed" FROM ${sql.table(table)} r
    WHERE ${tenant} = ${merchantId} GROUP BY ${id}
    HAVING count(*) > 1 OR coalesce(${id}, '') = '' LIMIT ${UNNAMED_MAX}`.execute(db)
  return rows.map(({ id, isNamed }): UnnamedRow => {
    const message = isNamed ? 'is there more than once' : 'has no id: it was put in by hand'
    return { table, id, findings: [[INVARIANTS.recordedRows, message]] }
  })
}

const LINK_PAGE_ROWS = 1_000

/** Yields the links of a merchant's ledger, in order. Only one page of each table is in memory. */
export async function* streamLinks(db: Db, merchantId: string): AsyncGenerator<LedgerLink> {
  const sources = [
    streamRows<JournalRow, LedgerLink>(
      db,
      { merchantId, table: 'journals', more: entriesOfJournal(merchantId) },
      toJournalLink,
    ),
    streamRows<TrailRow, LedgerLink>(db, { merchantId, table: 'trail_entries', more: dateOfRate }, (row) => ({
      table: 'trail_entries',
      row,
    })),
    streamRows<LinesTable, LedgerLink>(db, { merchantId, table: 'lines', more: sql`` }, (row) => ({
      table: 'lines',
      row,
    })),
  ]
  const heads = await Promise.all(sources.map((source) => source.next()))
  for (;;) {
    let next = -1
    for (const [place, head] of heads.entries()) {
      const before = heads[next]
      if (!head.done && (!before || before.done || head.value.row.id < before.value.row.id)) next = place
    }
    const [head, source] = [heads[next], sources[next]]
    if (!head || head.done || !source) return
    yield head.value
    heads[next] = await source.next()
  }
}

/** Yields the links of a merchant's chain of states, in order. */
export function streamStates(db: Db, merchantId: string): AsyncGenerator<StateLink> {
  const source = { merchantId, table: 'state_entries', more: sql`` } as const
  return streamRows<StateEntriesTable, StateLink>(db, source, (row) => ({ table: 'state_entries', row }))
}

/** `[seq, account, currency, amount, test]`. The amount is text, because a JSON number is not exact. */
type EntryTuple = readonly [seq: number, account: string, currency: string, amount: string, test: boolean]
type JournalRow = JournalsTable & { readonly entries: readonly EntryTuple[] | null }

function entriesOfJournal(merchantId: string): RawBuilder<unknown> {
  return sql`, (
    SELECT json_agg(json_build_array(e.seq, e.account, e.currency, e.amount::text, e.test) ORDER BY e.seq)
    FROM ${sql.table('entries')} e WHERE e.merchant_id = ${merchantId} AND e.journal_id = r.id
  ) AS entries`
}

function toJournalLink({ entries, ...row }: JournalRow): LedgerLink {
  return {
    table: 'journals',
    row,
    entries: (entries ?? []).map(
      ([seq, account, currency, amount, test]): EntriesTable => ({
        merchant_id: row.merchant_id,
        journal_id: row.id,
        seq,
        account,
        currency,
        amount: BigInt(amount),
        test,
      }),
    ),
  }
}

/** Select the day as text, because a JavaScript `Date` has a time and depends on the time zone. */
const dateOfRate = sql`, r.rate_date::text AS rate_date`

interface RowSource {
  readonly merchantId: string
  readonly table: Link['table']
  /** Columns to select in addition to those of the table. */
  readonly more: RawBuilder<unknown>
}

async function* streamRows<Row extends { id: string }, Streamed extends Link>(
  db: Db,
  { merchantId, table, more }: RowSource,
  toLink: (row: Row) => Streamed,
): AsyncGenerator<Streamed> {
  for (let after = ''; ; ) {
    const { rows } = await sql<Row>`
      SELECT r.* ${more} FROM ${sql.table(table)} r
      WHERE r.merchant_id = ${merchantId} AND r.id > ${after} ORDER BY r.id LIMIT ${LINK_PAGE_ROWS}`.execute(db)
    for (const row of rows) yield toLink(row)
    const last = rows.at(-1)
    if (!last || rows.length < LINK_PAGE_ROWS) return
    after = last.id
  }
}

/** The result of `ledger verify` over all merchants: the numbers of checked links and of violations. */
interface Verification {
  readonly merchants: number
  readonly links: number
  readonly violations: number
}

const ACTION = 'ledger.verified'

/** Stores the result in the audit log, from which the gauges of each process read it. */
export async function insertVerification(db: Db, verification: Verification): Promise<void> {
  await insertOperatorAudit(db, { action: ACTION, payload: verification })
}

/**
 * Reports the number of violations of the last verification (`payments_ledger_imbalance`, which must be 0) and its time
 * (`payments_ledger_verified_timestamp_seconds`). Both are 0 if no verification ran in the last month.
 */
export function observeLedger(meter: Meter, db: Db): void {
  const imbalance = meter.createObservableGauge('payments_ledger_imbalance', {
    description: 'Violations that the last ledger verify has found',
  })
  const verified = meter.createObservableGauge('payments_ledger_verified_timestamp_seconds', {
    description: 'Unix time of the last ledger verify, 0 where there was none in the last month',
  })
  meter.addBatchObservableCallback(
    async (result) => {
      // Ids begin with their time, so the bounds skip older rows. They also exclude a row with a time in the future, which would
      // hide all later rows.
      const { rows } = await sql<{ violations: number; seconds: number }>`
        SELECT (payload ->> 'violations')::int AS violations, extract(epoch FROM created)::float8 AS seconds
        FROM ${sql.table('audit')}
        WHERE merchant_id = repeat('0', 24) AND action = ${ACTION}
          AND id > lpad(to_hex(floor(extract(epoch FROM now() - interval '31 days'))::bigint), 8, '0')
          AND id < lpad(to_hex(floor(extract(epoch FROM now()))::bigint + 1), 8, '0') AND created <= now()
        ORDER BY id DESC LIMIT 1`.execute(db)
      result.observe(imbalance, rows[0]?.violations ?? 0)
      result.observe(verified, rows[0]?.seconds ?? 0)
    },
    [imbalance, verified],
  )
}
