import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { createOwnSchema, hasRelation, readColumns, requireOwnSchemas } from '../../schema/catalog.ts'
import { ID_GAP } from '../copy/copy-refresh-tokens.ts'
import { readIdentity, type Source } from './source-database.ts'

export interface ImportPlaces {
  readonly names: Names
  /** The schema that stores hashes of the imported rows for the next run. `import --forget` drops it. */
  readonly record: string
  /** The schema that stages rows of the source in the form of supabase/auth. It is dropped in the transaction of the run. */
  readonly kept: string
}

/** The state of an import. It is stored in the schema `record` for the next run. */
export interface ImportRecord {
  /** The database from which the rows were imported, as `readIdentity` returns it. */
  readonly source: string
  /** The number that is added to the ids of the source's refresh tokens, because the service may already use the same ids. */
  readonly tokenOffset: bigint
}

export function importPlacesOf(names: Names): ImportPlaces {
  const own = `${names.prefix}${names.schema}`
  return { names, record: `${own}_imported`, kept: `${own}_importing` }
}

/**
 * Returns the record of an import. The first run creates it.
 * @throws Error if the source is another database or a standby in an earlier state, or if another user owns a schema of this name
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
 * Records the position in the source's write-ahead log that this run has reached. A lagging standby would bring back an older
 * state than an earlier run took from the primary, such as an ended session. The state of a primary is always valid, even if a
 * failover has lost changes of an earlier primary.
 * @throws Error if the source is a standby and the previous run has read a later state
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

/** Leaves numbers for the tokens of the source: new tokens of the service get numbers above them. */
async function moveSequence(trx: Kysely<unknown>, { names }: ImportPlaces, highest: bigint): Promise<void> {
  const table = `"${names.schema}"."${names.prefix}refresh_tokens"`
  await sql`SELECT setval(pg_get_serial_sequence(${table}, 'id'), ${sql.lit(highest + ID_GAP)})`.execute(trx)
}

/**
 * `taken` has the state of each user, flow and provider at the source (`print`) and here (`own_print`), as sums of row hashes.
 * `own_print` is NULL without a row here. `taken_days` has the state of the source's audit log by day.
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

/** Returns the source of an import and the number of rows in each table of its record, or `undefined` if there is no import. */
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

/** Drops the record. Checks the owners again, because the operator may have taken long to confirm. */
export async function dropImport(db: Kysely<unknown>, { record, kept }: ImportPlaces): Promise<void> {
  await requireOwnSchemas(db, [record, kept])
  await sql`DROP SCHEMA ${sql.id(record)} CASCADE`.execute(db)
}

export interface TableChange {
  readonly table: string
  readonly added: number
  readonly changed: number
  readonly deleted: number
}

/** A user, flow or provider that has changed at the source but stays unchanged here. */
export interface HeldBack {
  readonly kind: string
  readonly id: string
  readonly reason: string
}

/** The tables of this service that an import writes row by row after a comparison. */
const COMPARED = [
  ...['users', 'identities', 'sessions', 'mfa_amr_claims', 'mfa_factors', 'refresh_tokens', 'webauthn_credentials'],
  ...['one_time_tokens', 'flow_state', 'custom_oauth_providers'],
] as const

/**
 * Finds the rows that are new, changed or gone at the source since the previous run. Holds back users, flows and providers that
 * have also changed here. A row that is gone on both sides needs no action.
 */
export async function findChanges(trx: Kysely<unknown>, places: ImportPlaces): Promise<void> {
  const { kept, record } = places
  const changes = sql.id(kept, 'changes')
  await sql`ANALYZE ${sql.id(kept, 'prints')}`.execute(trx)
  await sql`
    CREATE UNLOGGED TABLE ${changes} AS
      SELECT kind, id, p.print, CASE WHEN t.id IS NULL THEN 'new' WHEN p.id IS NULL THEN 'gone' ELSE 'changed' END AS change,
          t.own_print
        FROM ${sql.id(kept, 'prints')} p FULL JOIN ${sql.id(record, 'taken')} t USING (kind, id)
        WHERE p.print IS DISTINCT FROM t.print`.execute(trx)
  await sql`ALTER TABLE ${changes} ADD PRIMARY KEY (kind, id)`.execute(trx)
  await addFlowUsers(trx, places)
  await sql`ANALYZE ${changes}`.execute(trx)
  await sql`CREATE UNLOGGED TABLE ${sql.id(kept, 'held')} (kind text, id uuid, reason text)`.execute(trx)
  await recordOwnRows(trx, places, 'before')
  await holdBack(
    trx,
    places,
    sql`CASE WHEN change = 'new' THEN 'was here before the import' ELSE 'has changed here since its import' END`,
    sql`
      SELECT c.kind, c.id FROM ${changes} c LEFT JOIN (
          SELECT kind, id, sum(print) AS print FROM ${sql.id(kept, 'before')} GROUP BY kind, id) o USING (kind, id)
        WHERE o.print IS DISTINCT FROM c.own_print AND NOT (c.change = 'gone' AND o.print IS NULL)`,
  )
}

/**
 * Adds the users of changed flows to the changes, because a flow ends with a session of its user. If such a user has also changed
 * here, both the user and the flow are held back.
 */
async function addFlowUsers(trx: Kysely<unknown>, { kept, record }: ImportPlaces): Promise<void> {
  const changes = sql.id(kept, 'changes')
  if (!(await hasRelation(trx, kept, 'flow_state'))) return
  await sql`
    INSERT INTO ${changes} (kind, id, print, change, own_print)
      SELECT t.kind, t.id, t.print, 'changed', t.own_print FROM ${sql.id(record, 'taken')} t
        WHERE t.kind = 'user' AND t.id IN (
          SELECT n.id FROM (${await namedByFlows(trx, kept)}) n JOIN ${changes} c ON c.kind = 'flow' AND c.id = n.flow_id)
      ON CONFLICT DO NOTHING`.execute(trx)
}

/** Returns SQL for the users of the staged flows, as rows of `flow_id` and `id`. The stage of flows must exist. */
export async function namedByFlows(trx: Kysely<unknown>, kept: string): Promise<RawBuilder<unknown>> {
  const flows = sql.id(kept, 'flow_state')
  const linking = (await readColumns(trx, kept, 'flow_state')).has('linking_target_id')
    ? sql`UNION SELECT id, linking_target_id FROM ${flows} WHERE linking_target_id IS NOT NULL`
    : sql``
  return sql`SELECT id AS flow_id, user_id AS id FROM ${flows} WHERE user_id IS NOT NULL ${linking}`
}

/**
 * Removes users, flows and providers from the rows to write, and records the reason.
 * @param which SQL for rows with a kind and an id
 * @returns the number of removed rows
 */
export async function holdBack(
  trx: Kysely<unknown>,
  { kept }: ImportPlaces,
  reason: RawBuilder<unknown>,
  which: RawBuilder<unknown>,
): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    WITH which AS (${which}),
    held AS (
      DELETE FROM ${sql.id(kept, 'changes')} c USING which w WHERE (w.kind, w.id) = (c.kind, c.id) RETURNING c.kind, c.id, c.change),
    recorded AS (INSERT INTO ${sql.id(kept, 'held')} SELECT kind, id, ${reason} FROM held)
    SELECT count(*) AS count FROM held`.execute(trx)
  return Number(rows[0]?.count ?? 0)
}

/** Lists the users, flows and providers that the run did not import, with the reason, by kind and id. */
export async function listHeldBack(trx: Kysely<unknown>, { kept }: ImportPlaces): Promise<readonly HeldBack[]> {
  const { rows } = await sql<HeldBack>`
    SELECT kind, id, reason FROM ${sql.id(kept, 'held')} ORDER BY kind, id`.execute(trx)
  return rows
}

/**
 * Records the rows here after the changes, for the next run. The next run tries providers again that could not be copied.
 * @returns the number of rows that were added, changed and deleted in each table
 */
export async function recordTakenRows(
  trx: Kysely<unknown>,
  places: ImportPlaces,
  leftProviders: readonly string[],
): Promise<readonly TableChange[]> {
  const { kept, record } = places
  const [changes, taken] = [sql.id(kept, 'changes'), sql.id(record, 'taken')]
  await recordOwnRows(trx, places, 'after')
  await sql`DELETE FROM ${taken} t USING ${changes} c WHERE (t.kind, t.id) = (c.kind, c.id)`.execute(trx)
  const isLeft = (await hasRelation(trx, kept, 'custom_oauth_providers'))
    ? sql`c.id IN (
        SELECT id FROM ${sql.id(kept, 'custom_oauth_providers')} WHERE identifier = ANY (${leftProviders}::text[]))`
    : sql`false`
  await sql`
    INSERT INTO ${taken} (kind, id, print, own_print)
      SELECT c.kind, c.id, c.print, o.print FROM ${changes} c LEFT JOIN (
          SELECT kind, id, sum(print) AS print FROM ${sql.id(kept, 'after')} GROUP BY kind, id) o USING (kind, id)
        WHERE c.change <> 'gone' AND NOT (c.kind = 'provider' AND ${isLeft})`.execute(trx)
  return countChanges(trx, places)
}

async function countChanges(trx: Kysely<unknown>, { kept }: ImportPlaces): Promise<readonly TableChange[]> {
  const { rows } = await sql<{ table: string; added: string; changed: string; deleted: string }>`
    SELECT "table", count(*) FILTER (WHERE b.key IS NULL) AS added, count(*) FILTER (WHERE a.key IS NULL) AS deleted,
      count(*) FILTER (WHERE a.key = b.key) AS changed
    FROM (SELECT b.* FROM ${sql.id(kept, 'before')} b JOIN ${sql.id(kept, 'changes')} c USING (kind, id)) b
      FULL JOIN ${sql.id(kept, 'after')} a USING ("table", id, key)
    WHERE a.print IS DISTINCT FROM b.print GROUP BY 1`.execute(trx)
  return COMPARED.map((table) => {
    const { added, changed, deleted } = rows.find((row) => row.table === table) ?? {}
    return { table, added: Number(added ?? 0), changed: Number(changed ?? 0), deleted: Number(deleted ?? 0) }
  })
}

async function recordOwnRows(trx: Kysely<unknown>, places: ImportPlaces, name: 'before' | 'after'): Promise<void> {
  await sql`CREATE UNLOGGED TABLE ${sql.id(places.kept, name)} AS ${ownRows(places)}`.execute(trx)
  await sql`ANALYZE ${sql.id(places.kept, name)}`.execute(trx)
}

/**
 * Returns SQL for the rows here of the users, flows and providers that have changed at the source, each with a hash. Hashes
 * ignore NULL columns, so a release that adds columns does not change them.
 */
function ownRows({ names, kept }: ImportPlaces): RawBuilder<unknown> {
  const row = (
    kind: string,
    [table, id, key]: readonly [table: string, id: string, key: RawBuilder<unknown>],
    without: readonly string[] = [],
  ) => sql`
    SELECT ${sql.lit(kind)} AS kind, c.id, ${sql.lit(table)} AS "table", (${key})::text AS key,
        hashtextextended(jsonb_strip_nulls(to_jsonb(t) - ${sql.lit(`{${without.join(',')}}`)}::text[])::text, 0) AS print
      FROM ${rowsOf(names, table)} t JOIN ${sql.id(kept, 'changes')} c ON c.kind = ${sql.lit(kind)} AND c.id = ${sql.ref(id)}`
  return sql.join(
    [
      row('user', ['users', 't.id', sql`t.id`]),
      row('user', ['identities', 't.user_id', sql`concat(t.provider, ' ', t.provider_id)`]),
      row('user', ['sessions', 't.user_id', sql`t.id`]),
      row('user', ['mfa_amr_claims', 't.user_id', sql`t.id`]),
      row('user', ['mfa_factors', 't.user_id', sql`t.id`]),
      row('user', ['mfa_recovery_sets', 't.user_id', sql`t.id`]),
      row('user', ['refresh_tokens', 't.user_id', sql`encode(t.token_hash, 'hex')`], ['id', 'parent_id']),
      row('user', ['webauthn_credentials', 't.user_id', sql`t.id`]),
      row('user', ['one_time_tokens', 't.user_id', sql`t.kind`], ['id']),
      row('flow', ['flow_state', 't.id', sql`t.id`]),
      row('provider', ['custom_oauth_providers', 't.id', sql`t.id`]),
    ],
    sql` UNION ALL `,
  )
}

/** Returns SQL for the rows of a table here, each with its `user_id`. */
export function rowsOf(names: Names, table: string): RawBuilder<unknown> {
  if (table !== 'mfa_amr_claims') return names.id(table)
  return sql`(SELECT s.user_id, a.* FROM ${names.id(table)} a JOIN ${names.id('sessions')} s ON s.id = a.session_id)`
}
