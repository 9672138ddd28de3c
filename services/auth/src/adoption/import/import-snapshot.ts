import { type Kysely, type RawBuilder, sql } from 'kysely'
import { createOwnSchema, hasRelation } from '../../schema/catalog.ts'
import type { AdoptionDeps } from '../adoption-record.ts'
import { type CopiedEntries, copyAuditLog, describeRewritten } from '../copy/copy-audit-log.ts'
import {
  copyCustomProviders,
  copyFlows,
  copyLiveRows,
  lifetimesOf,
  type SecretCopyContext,
} from '../copy/copy-live-rows.ts'
import { copyTokens } from '../copy/copy-refresh-tokens.ts'
import { isOwnSession } from '../report.ts'
import { type Loss, UPSTREAM_COLUMNS } from '../upstream-tables.ts'
import {
  findChanges,
  type HeldBack,
  type ImportPlaces,
  type ImportRecord,
  listHeldBack,
  recordTakenRows,
  type TableChange,
} from './import-record.ts'
import type { Source } from './source-database.ts'
import { holdBackDuplicates, writeStagedUsers } from './write-staged-users.ts'

export interface SnapshotImport {
  readonly tables: readonly TableChange[]
  readonly heldBack: readonly HeldBack[]
  /** Custom providers that were not copied. */
  readonly leftProviders: readonly string[]
  /** The flows that are left out, and the audit log entries that are changed. */
  readonly losses: readonly Loss[]
}

/** The tables that an import writes. The service must not write them during the import. */
const WRITTEN = [
  ...['users', 'identities', 'sessions', 'mfa_amr_claims', 'mfa_factors', 'refresh_tokens', 'one_time_tokens'],
  ...['flow_state', 'webauthn_credentials', 'custom_oauth_providers'],
] as const
const BATCH_SESSIONS = 5_000

/** Writes the changes of the source since the previous run, all in the transaction of `staging`. */
export async function importSnapshot(
  deps: AdoptionDeps,
  staging: Staging,
  { tokenOffset }: Pick<ImportRecord, 'tokenOffset'>,
): Promise<SnapshotImport> {
  const { trx, places } = staging
  const { names, kept } = places
  await sql`
    LOCK TABLE ${sql.join(WRITTEN.map((table) => names.id(table)))} IN SHARE ROW EXCLUSIVE MODE`.execute(trx)
  const lifetimes = lifetimesOf(deps.config, deps.now())
  const longestMs = Math.max(lifetimes.mailCodeSeconds, lifetimes.flowSeconds) * 1_000
  await createStages(staging)
  await stageUserPrints(staging)
  await stageOthers(staging, new Date(lifetimes.now.getTime() - longestMs))
  await findChanges(trx, places)
  await stageUsers(
    staging,
    sql`
    SELECT id FROM ${sql.id(kept, 'changes')} WHERE kind = 'user' AND change <> 'gone'`,
  )
  const leftFlows = await holdBackDuplicates(trx, places)
  await writeStagedUsers(trx, places, lifetimes.now)
  const { encryptionKeys, randomBytes } = deps
  const context: SecretCopyContext = {
    trx,
    places,
    users: sql.id(kept, 'users'),
    lifetimes,
    encryption: { encryptionKeys, randomBytes },
  }
  await deleteChanged(trx, staging)
  await copyFlows(context)
  await copyLiveRows(context)
  await copyStagedTokens(staging, { tokenOffset, encryptionKeys })
  const leftProviders = await copyCustomProviders(context)
  const tables = await recordTakenRows(trx, places, leftProviders)
  const { copied, rewritten } = await importAuditLog(staging)
  const entries = { table: 'audit_log_entries', added: copied, changed: 0, deleted: 0 }
  const heldBack = await listHeldBack(trx, places)
  await sql`DROP SCHEMA ${sql.id(kept)} CASCADE`.execute(trx)
  return {
    tables: [...tables, entries],
    heldBack,
    leftProviders,
    losses: [...leftFlows, ...describeRewritten(rewritten)],
  }
}

/** Deletes changed flows and providers, so that they are copied again. */
async function deleteChanged(trx: Kysely<unknown>, { places: { names, kept } }: Staging): Promise<void> {
  for (const [table, kind] of Object.entries({ flow_state: 'flow', custom_oauth_providers: 'provider' })) {
    await sql`
      DELETE FROM ${names.id(table)} o USING ${sql.id(kept, 'changes')} c
      WHERE c.kind = ${kind} AND c.id = o.id AND c.change <> 'new'`.execute(trx)
  }
}

async function copyStagedTokens(
  { trx, places: { names, kept } }: Staging,
  { tokenOffset, encryptionKeys }: Pick<ImportRecord, 'tokenOffset'> & Pick<AdoptionDeps, 'encryptionKeys'>,
): Promise<void> {
  const { rows } = await sql<{ id: string }>`SELECT id FROM ${sql.id(kept, 'sessions')} ORDER BY id`.execute(trx)
  const copy = {
    old: sql.id(kept, 'refresh_tokens'),
    own: names.id('refresh_tokens'),
    sessions: names.id('sessions'),
    hasKeys: true,
    idOffset: tokenOffset,
    encryptionKeys,
  }
  for (let start = 0; start < rows.length; start += BATCH_SESSIONS) {
    const ids = rows.slice(start, start + BATCH_SESSIONS).map(({ id }) => id)
    await copyTokens(trx, copy, ids)
  }
}

/**
 * Imports audit log entries. Entries never change, so only days with added or removed entries are read again. The source may lack
 * the table. No entry is attributed to a user here who was not imported.
 */
async function importAuditLog(staging: Staging): Promise<CopiedEntries> {
  const { trx, places, source } = staging
  if (!(await hasRelation(source.db, source.names.schema, 'audit_log_entries'))) return { copied: 0, rewritten: 0 }
  const { rows: days } = await sql<{ day: string; print: string }>`
    SELECT ${dayOf('t')}::text AS day, sum(hashtextextended(t.id::text, 0))::text AS print
    FROM ${source.names.id('audit_log_entries')} t GROUP BY 1`.execute(source.db)
  const { rows: changed } = await sql<{ day: string }>`
    INSERT INTO ${sql.id(places.record, 'taken_days')} AS t (day, print)
      SELECT * FROM unnest(${days.map(({ day }) => day)}::date[], ${days.map(({ print }) => print)}::numeric[])
      ON CONFLICT (day) DO UPDATE SET print = excluded.print WHERE t.print <> excluded.print
      RETURNING day::text`.execute(trx)
  await stageEntries(
    staging,
    changed.map(({ day }) => day),
  )
  const { names, record } = places
  return copyAuditLog(
    trx,
    places,
    (id) => sql`
    EXISTS (SELECT FROM ${names.id('users')} u WHERE u.id = ${id})
      AND NOT EXISTS (SELECT FROM ${sql.id(record, 'taken')} t WHERE t.kind = 'user' AND t.id = ${id})`,
  )
}

interface Staging {
  readonly trx: Kysely<unknown>
  readonly places: ImportPlaces
  readonly source: Source
}

/** The tables of supabase/auth with rows of users, and the column of the user or of the session. */
const USER_TABLES = {
  users: 'id',
  identities: 'user_id',
  sessions: 'user_id',
  mfa_amr_claims: 'session_id',
  mfa_factors: 'user_id',
  refresh_tokens: 'session_id',
  webauthn_credentials: 'user_id',
} as const
/** The other tables from which an import copies rows. */
const OTHER_TABLES = ['flow_state', 'custom_oauth_providers', 'audit_log_entries'] as const

/** Matches a type in the form of `format_type`: `timestamp(6) with time zone`, `character varying(255)`, `uuid[]`. */
const BUILT_IN = /^[a-z][a-z0-9 ]*(?:\(\d+(?:,\d+)?\))?[a-z ]*(?:\[\])?$/
const BATCH_PRINTS = 20_000
const BATCH_USERS = 2_000
/** The text that one statement transfers. Node.js limits strings to 512 MiB, and PostgreSQL limits values to 1 GB. */
const PART_CHARACTERS = 4 * 1024 * 1024
const PART_ROWS = 500
/** The assumed length of a row before the first row of a table has been read. */
const ROW_CHARACTERS = 64 * 1024

/**
 * Creates a staging table for each table of the source, with the columns of supabase/auth. Types that the source defines become
 * `text`, as does any answer that is not a type: it becomes part of a statement, and the source may be hostile.
 */
export async function createStages({ trx, places, source }: Staging): Promise<void> {
  await createOwnSchema(trx, places.kept)
  for (const table of [...Object.keys(USER_TABLES), ...OTHER_TABLES]) {
    const { rows } = await sql<{ name: string; type: string }>`
      SELECT a.attname AS name, CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace
        THEN format_type(a.atttypid, a.atttypmod) ELSE 'text' END AS type
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
      WHERE a.attrelid = to_regclass(format('%I.%I', ${source.names.schema}::text, ${table}::text))
        AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`.execute(source.db)
    if (rows.length === 0) continue
    const known = rows.filter(({ name }) => UPSTREAM_COLUMNS[table]?.includes(name) !== false)
    const columns = known.map(({ name, type }) => sql`${sql.id(name)} ${sql.raw(typeOnStage(type))}`)
    await sql`CREATE UNLOGGED TABLE ${sql.id(places.kept, table)} (${sql.join(columns)})`.execute(trx)
  }
  await sql`
    CREATE UNLOGGED TABLE ${sql.id(places.kept, 'prints')} (kind text, id uuid, print numeric)`.execute(trx)
}

/** A `json` value stays text, because it may contain escapes that PostgreSQL rejects when it reads them. */
function typeOnStage(type: string): string {
  return type !== 'json' && BUILT_IN.test(type) ? type : 'text'
}

/**
 * Stores the state of each user of the source: the sum of the hashes of all rows of the user. The state also changes if SQL
 * changes or deletes rows. It excludes sessions of OAuth clients, because no import copies them. Rows are ignored if the source
 * has no such user in `users`.
 */
async function stageUserPrints({ trx, places, source }: Staging): Promise<void> {
  const { id } = source.names
  const parts: RawBuilder<unknown>[] = []
  const [isOwn, isOwnRow] = [await isOwnSession(source.db, source, 's'), await isOwnSession(source.db, source, 't')]
  for (const [index, [table, column]] of Object.entries(USER_TABLES).entries()) {
    if (!(await hasRelation(source.db, source.names.schema, table))) continue
    // The index of the table seeds the hash, so that equal text in different tables has different hashes.
    const print = sql`hashtextextended(t::text, ${sql.lit(index)}) AS print, ${sql.lit(table === 'users')} AS is_user`
    parts.push(
      column === 'session_id'
        ? sql`
          SELECT s.user_id AS id, ${print} FROM ${id(table)} t JOIN ${id('sessions')} s ON s.id = t.session_id
          WHERE ${isOwn}`
        : sql`
          SELECT t.${sql.id(column)} AS id, ${print} FROM ${id(table)} t
          WHERE ${table === 'sessions' ? isOwnRow : sql`true`}`,
    )
  }
  await sql`
    DECLARE prints NO SCROLL CURSOR FOR
      SELECT id, sum(print)::text AS print FROM (${sql.join(parts, sql` UNION ALL `)}) each GROUP BY id
        HAVING bool_or(is_user)`.execute(source.db)
  for (;;) {
    const { rows } = await sql<{ id: string; print: string }>`
      FETCH ${sql.lit(BATCH_PRINTS)} FROM prints`.execute(source.db)
    if (rows.length === 0) break
    const [ids, prints] = [rows.map((row) => row.id), rows.map((row) => row.print)]
    await sql`
      INSERT INTO ${sql.id(places.kept, 'prints')}
      SELECT 'user', * FROM unnest(${ids}::uuid[], ${prints}::numeric[])`.execute(trx)
  }
  await sql`CLOSE prints`.execute(source.db)
}

/** Fetches the flows that may be open and all custom providers, and stores their state. */
async function stageOthers(staging: Staging, openSince: Date): Promise<void> {
  const { trx, places } = staging
  const others = { flow_state: 'flow', custom_oauth_providers: 'provider' } as const
  for (const [table, kind] of Object.entries(others)) {
    if (!(await hasRelation(trx, places.kept, table))) continue
    const isWanted = kind === 'flow' ? sql`greatest(t.created_at, t.updated_at) > ${openSince}` : sql`true`
    await stageRows(staging, table, isWanted)
    await sql`
      INSERT INTO ${sql.id(places.kept, 'prints')}
      SELECT ${kind}, t.id, hashtextextended(t::text, 0) FROM ${sql.id(places.kept, table)} t`.execute(trx)
  }
}

/** Fetches the rows of all wanted users in batches, except the sessions of OAuth clients. */
export async function stageUsers(staging: Staging, wanted: RawBuilder<unknown>): Promise<void> {
  const { trx, places, source } = staging
  const [isOwn, isOwnRow] = [await isOwnSession(source.db, source, 's'), await isOwnSession(source.db, source, 't')]
  let after: string | undefined
  for (;;) {
    const { rows } = await sql<{ id: string }>`
      SELECT id FROM (${wanted}) w ${after === undefined ? sql`` : sql`WHERE id > ${after}`} ORDER BY id LIMIT ${sql.lit(BATCH_USERS)}`.execute(
      trx,
    )
    const ids = rows.map(({ id }) => id)
    const last = ids.at(-1)
    if (last === undefined) break
    for (const [table, column] of Object.entries(USER_TABLES)) {
      if (!(await hasRelation(trx, places.kept, table))) continue
      const own = sql`SELECT s.id FROM ${source.names.id('sessions')} s WHERE s.user_id = ANY (${ids}::uuid[]) AND ${isOwn}`
      const isWanted =
        column === 'session_id'
          ? sql`t.session_id IN (${own})`
          : sql`t.${sql.id(column)} = ANY (${ids}::uuid[]) AND ${table === 'sessions' ? isOwnRow : sql`true`}`
      await stageRows(staging, table, isWanted)
    }
    after = last
  }
  await indexStages(staging)
}

/** Fetches the audit log entries of the given days. */
async function stageEntries(staging: Staging, days: readonly string[]): Promise<void> {
  if (days.length === 0) return
  await stageRows(staging, 'audit_log_entries', sql`${dayOf('t')} = ANY (${days}::date[])`)
}

function dayOf(alias: string): RawBuilder<unknown> {
  return sql`coalesce(${sql.ref(`${alias}.created_at`)}, 'epoch')::date`
}

/** An audit log entry with its payload as text, because the source stores it as `json`. */
const ENTRY = sql`(SELECT e FROM (SELECT t.id, t.payload::text AS payload, t.created_at, t.ip_address) e)`

/** Copies rows as text, which rounds no number. The longest row so far limits how many are fetched together. */
async function stageRows(
  { trx, places, source }: Staging,
  table: string,
  isWanted: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    DECLARE staged NO SCROLL CURSOR FOR
      SELECT row_to_json(${table === 'audit_log_entries' ? ENTRY : sql`t`})::text AS row
      FROM ${source.names.id(table)} t WHERE ${isWanted}`.execute(source.db)
  let longest = 0
  for (;;) {
    const count = Math.floor(PART_CHARACTERS / (longest || ROW_CHARACTERS))
    const { rows } = await sql<{ row: string }>`
      FETCH ${sql.lit(Math.min(Math.max(count, 1), PART_ROWS))} FROM staged`.execute(source.db)
    if (rows.length === 0) break
    const texts = rows.map(({ row }) => row)
    for (const part of partsOf(texts)) await insertRows(trx, sql.id(places.kept, table), part)
    longest = Math.max(longest, ...texts.map((text) => text.length))
  }
  await sql`CLOSE staged`.execute(source.db)
}

/** Splits rows into parts. A part has at most the wanted length, or contains a single row. */
function partsOf(rows: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = []
  let left = 0
  for (const row of rows) {
    left -= row.length
    if (left < 0) {
      parts.push([])
      left = PART_CHARACTERS - row.length
    }
    parts.at(-1)?.push(row)
  }
  return parts
}

async function insertRows(trx: Kysely<unknown>, stage: RawBuilder<unknown>, rows: readonly string[]): Promise<void> {
  await sql`
    INSERT INTO ${stage} SELECT * FROM json_populate_recordset(NULL::${stage}, ${`[${rows.join(',')}]`}::json)`.execute(
    trx,
  )
}

/** In older versions, `identities.id` is the subject at the provider, so it is renamed to `provider_id` first. */
async function indexStages({ trx, places }: Staging): Promise<void> {
  const identities = sql.id(places.kept, 'identities')
  const { rows } = await sql<{ type: string }>`
    SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = to_regclass(format('%I.identities', ${places.kept}::text)) AND attname = 'id'`.execute(trx)
  if (rows[0]?.type === 'text') await sql`ALTER TABLE ${identities} RENAME COLUMN id TO provider_id`.execute(trx)
  const indexes = {
    users: ['id'],
    identities: ['provider_id'],
    sessions: ['id'],
    mfa_amr_claims: ['id'],
    mfa_factors: ['id'],
    refresh_tokens: ['session_id', 'token'],
  } as const
  for (const [table, columns] of Object.entries(indexes)) {
    for (const column of columns)
      await sql`CREATE INDEX ON ${sql.id(places.kept, table)} (${sql.id(column)})`.execute(trx)
    await sql`ANALYZE ${sql.id(places.kept, table)}`.execute(trx)
  }
}
