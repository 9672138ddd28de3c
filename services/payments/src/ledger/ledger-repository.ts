import { type Selectable, sql } from 'kysely'
import type { Db, PaymentsTables, Trx } from '../database.ts'
import type { ChainHead, LedgerHead } from './check-links.ts'
import type { Move } from './currency-move.ts'

const PAGE_ROWS = 500

/** Tables below a merchant. A row in one of them proves that the merchant existed. */
const TRACES = ['state_entries', 'journals', 'entries', 'trail_entries', 'lines', 'transactions'] as const

/** All merchants with a row or a balance, by id; then merchants of which only rows below them are left. */
export async function* streamLedgerIds(db: Db): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const page = sql<{ id: string }>`
      SELECT id FROM (
        (SELECT id FROM ${sql.table('merchants')} WHERE id > ${after} ORDER BY id LIMIT ${PAGE_ROWS})
        UNION
        (SELECT merchant_id FROM ${sql.table('merchant_balances')}
          WHERE merchant_id > ${after} ORDER BY merchant_id LIMIT ${PAGE_ROWS})
      ) known (id) ORDER BY id LIMIT ${PAGE_ROWS}`
    const { rows } = await runOnSnapshot(db, (trx) => page.execute(trx))
    yield* rows.map(({ id }) => id)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE_ROWS) break
    after = last.id
  }
  const orphans = new Set<string>()
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
