import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import type { LedgerLink, Link, StateLink, TrailRow } from './chain.ts'
import type { EntriesTable, JournalsTable, LinesTable, StateEntriesTable } from './ledger-tables.ts'

const PAGE_ROWS = 1_000

/** The links of a merchant's ledger, in order. Memory holds one page of each table. */
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

/** The links of a merchant's chain of states, in order. */
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

/** Text, because a date in JavaScript has a time and a zone. */
const dateOfRate = sql`, r.rate_date::text AS rate_date`

interface RowSource {
  readonly merchantId: string
  readonly table: Link['table']
  /** Columns beside the columns of the table. */
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
      WHERE r.merchant_id = ${merchantId} AND r.id > ${after} ORDER BY r.id LIMIT ${PAGE_ROWS}`.execute(db)
    for (const row of rows) yield toLink(row)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE_ROWS) return
    after = last.id
  }
}
