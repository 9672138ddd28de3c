import { sql } from 'kysely'
import { hashOf, type Link, type TrailRow } from '../src/ledger/chain.ts'
import type { TestPayments } from './payments-app.ts'

type Db = TestPayments['database']['db']

/** Returns a merchant's chain of links, in order. */
export async function readLinks(db: Db, merchantId: string): Promise<readonly Link[]> {
  const [journals, entries, trail, lines] = await Promise.all([
    db.selectFrom('journals').selectAll().where('merchant_id', '=', merchantId).execute(),
    db.selectFrom('entries').selectAll().where('merchant_id', '=', merchantId).orderBy('seq').execute(),
    sql<TrailRow>`SELECT t.*, t.rate_date::text AS rate_date FROM ${sql.table('trail_entries')} t
      WHERE merchant_id = ${merchantId}`
      .execute(db)
      .then(({ rows }) => rows),
    db.selectFrom('lines').selectAll().where('merchant_id', '=', merchantId).execute(),
  ])
  const links: Link[] = [
    ...journals.map((row) => ({
      table: 'journals' as const,
      row,
      entries: entries.filter((entry) => entry.journal_id === row.id),
    })),
    ...trail.map((row) => ({ table: 'trail_entries' as const, row })),
    ...lines.map((row) => ({ table: 'lines' as const, row })),
  ]
  return links.sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
}

/**
 * Returns the hash of the last link. Checks each link against the links before it.
 * @throws Error that names a link that does not follow
 */
export function recomputeChain(links: readonly Link[], start: Buffer): Buffer {
  return links.reduce((previous, link) => {
    const hash = hashOf(link, previous)
    if (!hash.equals(link.row.hash)) throw new Error(`${link.table} ${link.row.id} does not follow`)
    return hash
  }, start)
}
