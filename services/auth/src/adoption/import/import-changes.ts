import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { hasRelation, readColumns } from '../../schema/catalog.ts'
import type { ImportPlaces } from './import-record.ts'

/** How many rows an import has added, changed and deleted in a table of this service. */
export interface TableChange {
  readonly table: string
  readonly added: number
  readonly changed: number
  readonly deleted: number
}

/** A user, flow or provider that changed at the source, and stays as it is here. */
export interface HeldBack {
  readonly kind: string
  readonly id: string
  readonly reason: string
}

/** The tables of this service that an import writes by rows that it compares. */
const COMPARED = [
  ...['users', 'identities', 'sessions', 'mfa_amr_claims', 'mfa_factors', 'refresh_tokens', 'webauthn_credentials'],
  ...['one_time_tokens', 'flow_state', 'custom_oauth_providers'],
] as const

/**
 * Finds what is new, has changed or is gone at the source since the run before, and holds back users,
 * flows and providers that have changed here too. A row that is gone on both sides needs nothing.
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
 * A flow ends in a session of the user whom it names, so that user counts as changed: who has changed here
 * too is held back, and then so is the flow.
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

/** SQL of the users whom the staged flows name: rows of `flow_id` and `id`. There must be a stage of flows. */
export async function namedByFlows(trx: Kysely<unknown>, kept: string): Promise<RawBuilder<unknown>> {
  const flows = sql.id(kept, 'flow_state')
  const linking = (await readColumns(trx, kept, 'flow_state')).has('linking_target_id')
    ? sql`UNION SELECT id, linking_target_id FROM ${flows} WHERE linking_target_id IS NOT NULL`
    : sql``
  return sql`SELECT id AS flow_id, user_id AS id FROM ${flows} WHERE user_id IS NOT NULL ${linking}`
}

/**
 * Takes users, flows and providers out of what is to be written, and records the reason.
 * @param which SQL of rows with a kind and an id
 * @returns how many there were
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

/** Lists the users, flows and providers that the run did not take, with the reason, by kind and id. */
export async function listHeldBack(trx: Kysely<unknown>, { kept }: ImportPlaces): Promise<readonly HeldBack[]> {
  const { rows } = await sql<HeldBack>`
    SELECT kind, id, reason FROM ${sql.id(kept, 'held')} ORDER BY kind, id`.execute(trx)
  return rows
}

/**
 * Records the rows here after the changes, for the next run. Providers that could not be copied are tried again.
 * @returns the rows that were added, changed and deleted in each table
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
 * The rows here of what has changed at the source, each with a hash. Columns that are NULL do not count, so
 * that a release of this service that adds columns changes no hash.
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

/** The rows of a table here that leads to users, each with its user. */
export function rowsOf(names: Names, table: string): RawBuilder<unknown> {
  if (table !== 'mfa_amr_claims') return names.id(table)
  return sql`(SELECT s.user_id, a.* FROM ${names.id(table)} a JOIN ${names.id('sessions')} s ON s.id = a.session_id)`
}
