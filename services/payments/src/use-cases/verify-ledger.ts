import { type Kysely, type Selectable, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'
import {
  type ChainHead,
  checkLink,
  endChain,
  endCheck,
  type Finding,
  followChain,
  type LedgerHead,
  type LinkState,
  startChain,
  startCheck,
} from '../ledger/check-links.ts'
import { streamLinks, streamStates } from '../ledger/link-stream.ts'
import { listChangedRows } from '../ledger/states.ts'
import { listStrayTerms } from '../ledger/terms.ts'
import { checkFigures, streamFigures } from '../ledger/transaction-figures.ts'

/** A broken invariant of a ledger. */
export interface Violation {
  readonly merchantId: string
  /** The number of the invariant (reference: Invariants). */
  readonly invariant: number
  /** The row that breaks it. Null when it concerns the merchant's ledger as a whole. */
  readonly table: string | null
  readonly id: string | null
  readonly message: string
}

/** The ends of a merchant's chains. Lists that are older than the chain of states have no end of it. */
export interface ChainHeads {
  readonly ledger: ChainHead
  readonly states: ChainHead | undefined
}

/** The result for one merchant: its first violations, and the ends of its chains. */
export interface VerifiedMerchant {
  readonly merchantId: string
  readonly ledger: ChainHead
  readonly states: ChainHead
  readonly violations: readonly Violation[]
}

const VIOLATIONS_MAX = 100
const PAGE = 500
const NOTHING: ChainHead = { length: 0n, head: Buffer.alloc(0) }

/**
 * Recomputes the ledgers of all merchants, one after another, each as of one moment, and compares them with the heads
 * that were kept (reference: Verification). Memory does not grow with the ledger. Invariant 12 holds at the moment of a
 * payout and cannot be recomputed later.
 */
export async function* verifyLedger(
  db: Kysely<PaymentsTables>,
  { merchantId, kept }: { readonly merchantId: string | undefined; readonly kept: ReadonlyMap<string, ChainHeads> },
): AsyncGenerator<VerifiedMerchant> {
  const missing = new Set(merchantId === undefined ? kept.keys() : [merchantId])
  for await (const id of merchantId === undefined ? streamMerchantIds(db) : [merchantId]) {
    const verified = await verifyMerchant(db, id, kept.get(id))
    if (!verified) continue
    missing.delete(id)
    yield verified
  }
  for (const id of missing) {
    const violation = { merchantId: id, invariant: 16, table: null, id: null, message: 'the merchant has no ledger' }
    yield { merchantId: id, ledger: NOTHING, states: NOTHING, violations: [violation] }
  }
}

/** Tables below a merchant. A row in one of them proves that the merchant existed. */
const TRACES = ['state_entries', 'journals', 'entries', 'trail_entries', 'lines', 'transactions'] as const

/** All merchants with a row or a balance, by id; then merchants of which only rows below them are left. */
async function* streamMerchantIds(db: Kysely<PaymentsTables>): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const page = sql<{ id: string }>`
      SELECT id FROM (
        (SELECT id FROM ${sql.table('merchants')} WHERE id > ${after} ORDER BY id LIMIT ${PAGE})
        UNION
        (SELECT merchant_id FROM ${sql.table('merchant_balances')}
          WHERE merchant_id > ${after} ORDER BY merchant_id LIMIT ${PAGE})
      ) known (id) ORDER BY id LIMIT ${PAGE}`
    const { rows } = await readEveryRow(db, (trx) => page.execute(trx))
    yield* rows.map(({ id }) => id)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) break
    after = last.id
  }
  const orphans = new Set<string>()
  for (const table of TRACES) {
    const page = sql<{ id: string }>`
      SELECT DISTINCT t.merchant_id AS id FROM ${sql.table(table)} t
      WHERE NOT EXISTS (SELECT FROM ${sql.table('merchants')} m WHERE m.id = t.merchant_id)
        AND NOT EXISTS (SELECT FROM ${sql.table('merchant_balances')} b WHERE b.merchant_id = t.merchant_id)
      LIMIT ${PAGE}`
    const { rows } = await readEveryRow(db, (trx) => page.execute(trx))
    for (const { id } of rows) orphans.add(id)
  }
  yield* orphans
}

/**
 * Reads as of one moment. Row-level security would hide rows silently; with row_security off PostgreSQL refuses the
 * query instead.
 */
function readEveryRow<T>(db: Kysely<PaymentsTables>, read: (trx: Kysely<PaymentsTables>) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql`SET LOCAL row_security = off`.execute(trx)
      return read(trx)
    })
}

/** Verifies one merchant. Undefined when the database has nothing of it. */
function verifyMerchant(
  db: Kysely<PaymentsTables>,
  merchantId: string,
  kept: ChainHeads | undefined,
): Promise<VerifiedMerchant | undefined> {
  return readEveryRow(db, async (trx) => {
    const violations: Violation[] = []
    const add = (findings: readonly Finding[], table: string | null, id: string | null) => {
      for (const [invariant, message] of findings) {
        if (violations.length < VIOLATIONS_MAX) violations.push({ merchantId, invariant, table, id, message })
      }
    }
    const { merchant, balance, entries, unsettled } = await readHead(trx, merchantId)
    const ledger = startCheck(kept?.ledger, merchant?.test)
    for await (const link of streamLinks(trx, merchantId)) add(checkLink(ledger, link), link.table, link.row.id)
    const states = startChain(kept?.states)
    for await (const link of streamStates(trx, merchantId)) add(followChain(states, link), link.table, link.row.id)
    if (!merchant && !balance && ledger.chain.length + states.chain.length + entries === 0n) return undefined
    if (!merchant) add([[17, 'is gone']], 'merchants', merchantId)
    if (!balance) add([[17, 'is gone']], 'merchant_balances', merchantId)
    add(endChain(ledger, balance), 'merchant_balances', merchantId)
    add(endChain(states, balance?.states), 'merchant_balances', merchantId)
    if (balance) {
      add(endCheck(ledger, balance, entries), 'merchant_balances', merchantId)
      add(checkBalance(balance, merchant), 'merchant_balances', merchantId)
      add(checkClearing(ledger, balance.currency, unsettled), null, null)
    }
    let trailEntries = 0n
    for await (const figures of streamFigures(trx, merchantId)) {
      trailEntries += figures.trail_entries
      add(checkFigures(figures), 'transactions', figures.id)
    }
    if (trailEntries !== ledger.trailEntries) add([[3, 'trail entries belong to no transaction']], null, null)
    for (const { table, id, findings } of await listChangedRows(trx, merchantId)) add(findings, table, id)
    for (const { table, id, findings } of await listStrayTerms(trx, merchantId)) add(findings, table, id)
    return { merchantId, ledger: ledger.chain, states: states.chain, violations }
  })
}

interface BalanceRow extends LedgerHead {
  readonly currency: string
  readonly clockOffset: bigint
  readonly states: ChainHead
}

type MerchantRow = Pick<PaymentsTables['merchants'], 'currency' | 'test'>

/** The rows of a merchant about its ledger, and sums over the rows below it. */
async function readHead(trx: Kysely<PaymentsTables>, merchantId: string) {
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
  const { rows } = await sql<{ entries: bigint; unsettled: bigint }>`
    SELECT (SELECT count(*) FROM ${sql.table('entries')} e WHERE e.merchant_id = ${merchantId}) AS entries,
      (SELECT coalesce(sum(p.amount), 0)::bigint FROM ${sql.table('payouts')} p
        WHERE p.merchant_id = ${merchantId} AND p.status IN ('created', 'exported')) AS unsettled`.execute(trx)
  const [{ entries, unsettled } = { entries: 0n, unsettled: 0n }] = rows
  return { merchant, balance: row && toBalance(row), entries, unsettled }
}

function toBalance(row: Selectable<PaymentsTables['merchant_balances']>): BalanceRow {
  const { balance, currency, line_count: lineCount, clock_offset: clockOffset } = row
  const states = { length: row.state_length, head: row.state_head }
  return { balance, currency, lineCount, clockOffset, length: row.chain_length, head: row.chain_head, states }
}

/** Only the clock of a test merchant may run ahead, because live money is paid out by the clock of the database. */
function checkBalance({ currency, clockOffset }: BalanceRow, merchant: MerchantRow | undefined): readonly Finding[] {
  const findings: Finding[] = []
  if (merchant && merchant.currency !== currency) findings.push([9, `is in ${currency}, not ${merchant.currency}`])
  if (merchant && !merchant.test && clockOffset !== 0n) findings.push([12, `the clock runs ${clockOffset} s ahead`])
  return findings
}

function checkClearing({ payoutClearing }: LinkState, currency: string, unsettled: bigint): readonly Finding[] {
  const clearing = payoutClearing.get(currency) ?? 0n
  return clearing === unsettled ? [] : [[15, `${clearing} waits for the bank, payouts of ${unsettled} do`]]
}
