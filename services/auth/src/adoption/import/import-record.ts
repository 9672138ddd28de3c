import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { createOwnSchema, hasRelation, requireOwnSchemas } from '../../schema/catalog.ts'
import { ID_GAP } from '../copy/token-numbers.ts'
import { readIdentity, type Source } from './source-database.ts'

/** The schemas of an import from another database. */
export interface ImportPlaces {
  readonly names: Names
  /**
   * The schema of the tables for the next run: the rows that were taken, and hashes of their values.
   * `import --forget` drops it.
   */
  readonly record: string
  /** The schema in which rows of the source wait in the form of supabase/auth. It ends with the transaction of a run. */
  readonly kept: string
}

/** The state of an import, which it records in its schema for the next run. */
export interface ImportRecord {
  /** The database that the rows came from, as `readIdentity` tells it. */
  readonly source: string
  /** The offset of the numbers of the source's refresh tokens, since the service may have given the same numbers. */
  readonly tokenOffset: bigint
}

/** The schemas of an import into the service's schema. */
export function importPlacesOf(names: Names): ImportPlaces {
  const own = `${names.prefix}${names.schema}`
  return { names, record: `${own}_imported`, kept: `${own}_importing` }
}

/**
 * The record of an import, which the first run makes.
 * @throws Error where the source is another one than in the runs before, or a standby in an earlier state, or a schema of this
 * name is not the user's own
 */
export async function openRecord({
  trx,
  places,
  source,
}: {
  readonly trx: Kysely<unknown>
  readonly places: ImportPlaces
  readonly source: Source
}): Promise<ImportRecord> {
  const identity = await readIdentity(source)
  const found = await findRecord(trx, places)
  if (found !== undefined && found.source !== identity)
    throw new Error(
      `the users here came from another database (${found.source}), not from this one (${identity}): auth import --forget ends that import`,
    )
  if (found !== undefined) {
    await advance(trx, places, source)
    return found
  }
  const record = { source: identity, tokenOffset: await findMaxId(trx, places.names.id('refresh_tokens')) }
  await moveSequence(trx, places, record.tokenOffset + (await findMaxId(source.db, source.names.id('refresh_tokens'))))
  await createRecord(trx, places, record)
  await advance(trx, places, source)
  return record
}

/**
 * Records how far the source has gone, from one run to the next. A standby that lags would give back what the run before has
 * taken from the primary: a password that was changed since, or a session that has ended. A primary has the state that
 * counts, also where a failover has lost what an earlier one had.
 * @throws Error where the source is a standby, and the run before has read a later state
 */
async function advance(
  trx: Kysely<unknown>,
  { record }: ImportPlaces,
  { position, isStandby }: Pick<Source, 'position' | 'isStandby'>,
): Promise<void> {
  if (position === undefined) return
  const table = sql.id(record, 'source')
  await sql`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS position pg_lsn`.execute(trx)
  const { rows } = await sql<{ position: string }>`
    SELECT position::text AS position FROM ${table} WHERE position > ${position}::pg_lsn`.execute(trx)
  const [later] = rows
  if (later !== undefined && isStandby)
    throw new Error(
      `the source is in an earlier state (${position}) than at the run before (${later.position}), because it is a standby that lags: wait until it has caught up, or name the primary`,
    )
  await sql`UPDATE ${table} SET position = ${position}::pg_lsn`.execute(trx)
}

async function findRecord(trx: Kysely<unknown>, { record, kept }: ImportPlaces): Promise<ImportRecord | undefined> {
  await requireOwnSchemas(trx, [record, kept])
  if (!(await hasRelation(trx, record, 'source'))) return undefined
  const { rows } = await sql<{ source: string; offset: string }>`
    SELECT source, token_offset::text AS "offset" FROM ${sql.id(record, 'source')}`.execute(trx)
  return rows[0] && { source: rows[0].source, tokenOffset: BigInt(rows[0].offset) }
}

async function findMaxId(db: Kysely<unknown>, table: RawBuilder<unknown>): Promise<bigint> {
  const { rows } = await sql<{ max: string }>`SELECT coalesce(max(id), 0)::text AS max FROM ${table}`.execute(db)
  return BigInt(rows[0]?.max ?? 0)
}

/** The tokens of the source get numbers above the tokens of the service. The service goes on above the tokens to come. */
async function moveSequence(trx: Kysely<unknown>, { names }: ImportPlaces, highest: bigint): Promise<void> {
  const table = `"${names.schema}"."${names.prefix}refresh_tokens"`
  await sql`SELECT setval(pg_get_serial_sequence(${table}, 'id'), ${sql.lit(highest + ID_GAP)})`.execute(trx)
}

/**
 * `taken` has what each user, flow and provider was like at the source, and what became of it here, as sums
 * of hashes of its rows; `own_print` is NULL where it has no row here. `taken_days` has the same for the
 * entries of the audit log, by day.
 */
async function createRecord(
  trx: Kysely<unknown>,
  { record }: ImportPlaces,
  { source, tokenOffset }: ImportRecord,
): Promise<void> {
  await createOwnSchema(trx, record)
  await sql`
    CREATE TABLE ${sql.id(record, 'source')} (source text NOT NULL, token_offset bigint NOT NULL)`.execute(trx)
  await sql`INSERT INTO ${sql.id(record, 'source')} VALUES (${source}, ${sql.lit(tokenOffset)})`.execute(trx)
  await sql`
    CREATE TABLE ${sql.id(record, 'taken')} (
      kind text NOT NULL, id uuid NOT NULL, print numeric NOT NULL, own_print numeric, PRIMARY KEY (kind, id))`.execute(
    trx,
  )
  await sql`
    CREATE TABLE ${sql.id(record, 'taken_days')} (day date PRIMARY KEY, print numeric NOT NULL)`.execute(trx)
}

/** The source of an import, and how many rows each table of its record has. Undefined where there is none. */
export async function countRecorded(
  db: Kysely<unknown>,
  places: ImportPlaces,
): Promise<{ readonly source: string; readonly rows: ReadonlyMap<string, number> } | undefined> {
  const found = await findRecord(db, places)
  if (found === undefined) return undefined
  const rows = new Map<string, number>()
  for (const table of ['source', 'taken', 'taken_days']) {
    const { rows: counts } = await sql<{ count: number }>`
      SELECT count(*)::int AS count FROM ${sql.id(places.record, table)}`.execute(db)
    rows.set(`${places.record}.${table}`, counts[0]?.count ?? 0)
  }
  return { source: found.source, rows }
}

/** Drops the record, after which no run can continue the import. The operator may have thought about it for long. */
export async function dropImport(db: Kysely<unknown>, { record, kept }: ImportPlaces): Promise<void> {
  await requireOwnSchemas(db, [record, kept])
  await sql`DROP SCHEMA ${sql.id(record)} CASCADE`.execute(db)
}
