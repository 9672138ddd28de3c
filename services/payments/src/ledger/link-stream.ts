import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'
import type { EntriesTable, JournalsTable, LinesTable } from '../merchant-tables.ts'
import type { Link, TrailRow } from './chain.ts'

const PAGE = 1_000

/** The links of a merchant's chain in order; of each table one page is in memory. */
export async function* streamLinks(db: Kysely<PaymentsTables>, merchantId: string): AsyncGenerator<Link> {
  const sources = [
    streamRows<JournalRow>(db, { merchantId, table: 'journals', more: entriesOfJournal(merchantId) }, toJournalLink),
    streamRows<TrailRow>(db, { merchantId, table: 'trail_entries', more: dateOfRate }, (row) => ({
      table: 'trail_entries',
      row,
    })),
    streamRows<LinesTable>(db, { merchantId, table: 'lines', more: sql`` }, (row) => ({ table: 'lines', row })),
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

/** `[seq, account, currency, amount, test]`; the amount as text, which is exact. */
type EntryTuple = readonly [seq: number, account: string, currency: string, amount: string, test: boolean]
type JournalRow = JournalsTable & { readonly entries: readonly EntryTuple[] | null }

function entriesOfJournal(merchantId: string): RawBuilder<unknown> {
  return sql`, (
    SELECT json_agg(json_build_array(e.seq, e.account, e.currency, e.amount::text, e.test) ORDER BY e.seq)
    FROM ${sql.table('entries')} e WHERE e.merchant_id = ${merchantId} AND e.journal_id = r.id
  ) AS entries`
}

function toJournalLink({ entries, ...row }: JournalRow): Link {
  return {
    table: 'journals',
    row,
    entries: (entries ?? []).map(
      ([seq, account, currency, amount, test]): EntriesTable => ({
        ...{ merchant_id: row.merchant_id, journal_id: row.id, seq, account, currency, amount: BigInt(amount), test },
      }),
    ),
  }
}

/** As text: in JavaScript a date would have a time and a zone. */
const dateOfRate = sql`, r.rate_date::text AS rate_date`

interface RowSource {
  readonly merchantId: string
  readonly table: 'journals' | 'trail_entries' | 'lines'
  /** Columns beside those of the table. */
  readonly more: RawBuilder<unknown>
}

async function* streamRows<Row extends { id: string }>(
  db: Kysely<PaymentsTables>,
  { merchantId, table, more }: RowSource,
  toLink: (row: Row) => Link,
): AsyncGenerator<Link> {
  for (let after = ''; ; ) {
    const { rows } = await sql<Row>`
      SELECT r.* ${more} FROM ${sql.table(table)} r
      WHERE r.merchant_id = ${merchantId} AND r.id > ${after} ORDER BY r.id LIMIT ${PAGE}`.execute(db)
    for (const row of rows) yield toLink(row)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = last.id
  }
}
