import pg from 'pg'

/** What the rows of a table come to, in whatever order they lie: their number, and a sum of their hashes. */
export type Fingerprints = ReadonlyMap<string, string>

/** A moment of a database that stays in view while others go on writing. */
export interface Snapshot {
  /** For `pg_dump --snapshot`. */
  readonly id: string
  readonly fingerprints: () => Promise<Fingerprints>
  close(): Promise<void>
}

export async function openSnapshot(url: string): Promise<Snapshot> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
  const { rows } = await client.query<{ id: string }>('SELECT pg_export_snapshot() AS id')
  return {
    id: rows[0]?.id ?? '',
    fingerprints: () => readFingerprints(client),
    close: () => client.end(),
  }
}

/** Of every table outside of PostgreSQL's own schemas. */
async function readFingerprints(client: pg.Client): Promise<Fingerprints> {
  await client.query("SET LOCAL TimeZone = 'UTC'")
  const { rows: tables } = await client.query<{ name: string }>(`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`)
  const found = new Map<string, string>()
  for (const { name } of tables) {
    const { rows } = await client.query<{ print: string }>(`
      SELECT format('%s rows, hash %s', count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)) AS print
      FROM ${name} t`)
    found.set(name, rows[0]?.print ?? '')
  }
  return found
}

/** The tables that differ, a line each. */
export function compareFingerprints(before: Fingerprints, after: Fingerprints): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((table) => before.get(table) !== after.get(table))
    .map((table) => `${table}: was ${before.get(table) ?? 'not there'}, is ${after.get(table) ?? 'not there'}`)
}
