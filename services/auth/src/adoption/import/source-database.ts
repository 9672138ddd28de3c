import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { isDatabaseUrl } from '@trestle/service/database-settings.ts'
import { describeEncryption } from '@trestle/service/describe-outage.ts'
import { type Kysely, sql } from 'kysely'

/** A snapshot of a database that an import reads and never writes. */
export interface Source {
  readonly db: Kysely<unknown>
  readonly names: Names
  /** How far the log of the source has gone, in the form of the type pg_lsn. Undefined if the source does not say. */
  readonly position: string | undefined
  /** Whether the source replays the log of another server, and may lag behind it. */
  readonly isStandby: boolean
}

export interface SourceAddress {
  readonly url: string
  readonly schema: string
}

/**
 * Opens one snapshot of a database, in which nothing can be written, for one piece of work. A standby will do.
 * @throws Error in one line without the URL where the database does not answer, or refuses the user
 */
export async function withSource<T>({ url, schema }: SourceAddress, use: (source: Source) => Promise<T>): Promise<T> {
  if (!isDatabaseUrl(url))
    throw new Error(
      'the address of the source is not a URL such as postgres://user:password@host:5432/database, with %20 for a blank and %25 for a %',
    )
  return withDatabase({ url }, async (db) => {
    await connect(db)
    return db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(async (trx) => {
        // Within the transaction: a pooler may lead the next one to another server.
        const place = await readPlace(trx)
        await setFormats(trx)
        return use({ db: trx, names: createNames(schema), ...place })
      })
  })
}

/** Reads how far the log has gone: on a standby, how far it has been replayed. */
async function readPlace(trx: Kysely<unknown>): Promise<Pick<Source, 'position' | 'isStandby'>> {
  const { rows } = await sql<{ position: string | null; isStandby: boolean }>`
    SELECT pg_is_in_recovery() AS "isStandby",
      CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text AS position`.execute(
    trx,
  )
  return { position: rows[0]?.position ?? undefined, isStandby: rows[0]?.isStandby === true }
}

/** The words of pg for a server that asks for a password where neither the URL nor PGPASSWORD has one. */
const NO_PASSWORD = 'client password must be a string'

/** The failure has no `cause`: it may name the URL, and a command would give advice about the service's own database. */
async function connect(db: Kysely<unknown>): Promise<void> {
  try {
    await sql`SELECT 1`.execute(db)
  } catch (error) {
    const first: unknown = error instanceof AggregateError ? error.errors[0] : error
    const message = first instanceof Error ? first.message : String(first)
    const reason = message.includes(NO_PASSWORD) ? 'it asks for a password: write it into PGPASSWORD' : message
    throw new Error(`cannot connect to the source: ${describeEncryption(first) ?? reason}`)
  }
}

/**
 * Rows are compared and carried as texts, so both databases write values alike. Supabase ends idle transactions of its service
 * after a minute.
 */
export async function setFormats(trx: Kysely<unknown>): Promise<void> {
  const settings = {
    TimeZone: 'UTC',
    DateStyle: 'ISO, YMD',
    bytea_output: 'hex',
    extra_float_digits: '1',
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
  }
  for (const [name, value] of Object.entries(settings))
    await sql`SELECT set_config(${name}, ${value}, true)`.execute(trx)
}

/** Returns a text that identifies a database: its cluster, if every role may read that, its name and its schema. */
export async function readIdentity({ db, names: { schema } }: Source): Promise<string> {
  const { rows } = await sql<{ shown: boolean; database: string }>`
    SELECT has_function_privilege('pg_control_system()', 'EXECUTE') AS shown, oid || ' ' || datname AS database
    FROM pg_database WHERE datname = current_database()`.execute(db)
  const [state] = rows
  if (state?.shown !== true) return `${state?.database} ${schema}`
  const cluster = await sql<{ id: string }>`SELECT system_identifier::text AS id FROM pg_control_system()`.execute(db)
  return `${cluster.rows[0]?.id} ${state.database} ${schema}`
}

/** The foreign keys of other schemas to the users: the source keeps the tables that have them. */
export async function listForeignKeys({ db, names: { schema } }: Source): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT format('%I of %s', k.conname, k.conrelid::regclass) AS name
    FROM pg_constraint k JOIN pg_class o ON o.oid = k.conrelid
    WHERE k.contype = 'f' AND k.confrelid = to_regclass(format('%I.users', ${schema}::text))
      AND o.relnamespace <> to_regnamespace(format('%I', ${schema}::text))
    ORDER BY 1`.execute(db)
  return rows.map(({ name }) => name)
}

/**
 * Reading a table runs code of its owner: functions of a cast to `json`, or in the predicate of an index. It runs with the rights
 * of the reader. So the reader may have no right by which it could leave the database, not even by SET ROLE.
 * @throws Error where the user is a superuser of the source, or may run programs or use files of its server
 */
export async function requireHarmlessReader({ db }: Source): Promise<void> {
  const { rows } = await sql<{ user: string; right: string | null }>`
    SELECT session_user AS "user", CASE WHEN rolsuper THEN NULL ELSE rolname END AS right
    FROM pg_roles WHERE pg_has_role(session_user, oid, 'MEMBER')
      AND (rolsuper OR rolname IN ('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files'))
    ORDER BY rolsuper DESC, rolname LIMIT 1`.execute(db)
  const [state] = rows
  if (state === undefined) return
  const { user, right } = state
  const reason =
    right === null ? `has the rights of a superuser of the source` : `is a member of ${right} at the source`
  throw new Error(
    `${user} ${reason}, and what the source runs when its tables are read could use them: connect as a user who can only read, which docs/runbooks/moving-in.md says how to make`,
  )
}
