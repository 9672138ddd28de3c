import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { isDatabaseUrl } from '@trestle/service/database-settings.ts'
import { describeEncryption } from '@trestle/service/describe-outage.ts'
import { type Kysely, sql } from 'kysely'

/** A snapshot of the database that an import reads. An import never writes to it. */
export interface Source {
  readonly db: Kysely<unknown>
  readonly names: Names
  /** The position in the source's write-ahead log, as `pg_lsn`. `undefined` if the source does not report it. */
  readonly position: string | undefined
  /** Whether the source is a standby, which may lag behind its primary. */
  readonly isStandby: boolean
}

export interface SourceAddress {
  readonly url: string
  readonly schema: string
}

/**
 * Opens a read-only snapshot of a database for one piece of work. The database may be a standby.
 * @throws Error in one line, without the URL, if the database does not answer or rejects the user
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
        // Read this inside the transaction, because a pooler may route the next transaction to another server.
        const place = await readPlace(trx)
        await setFormats(trx)
        return use({ db: trx, names: createNames(schema), ...place })
      })
  })
}

/** Reads the position in the write-ahead log. On a standby, this is the replayed position. */
async function readPlace(trx: Kysely<unknown>): Promise<Pick<Source, 'position' | 'isStandby'>> {
  const { rows } = await sql<{ position: string | null; isStandby: boolean }>`
    SELECT pg_is_in_recovery() AS "isStandby",
      CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text AS position`.execute(
    trx,
  )
  return { position: rows[0]?.position ?? undefined, isStandby: rows[0]?.isStandby === true }
}

/** The error message of pg if a server requires a password, but neither the URL nor PGPASSWORD contains one. */
const NO_PASSWORD = 'client password must be a string'

/** The error has no `cause`: it may contain the URL, and a command would add advice about the wrong database. */
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
 * Sets the output formats of a session, so that both databases write values in the same way. Rows are compared and copied as
 * text. Also disables timeouts: Supabase ends idle transactions of its service after a minute.
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

/** Returns a text that identifies a database: its cluster (if the user may read it), name and schema. */
export async function readIdentity({ db, names: { schema } }: Source): Promise<string> {
  const { rows } = await sql<{ shown: boolean; database: string }>`
    SELECT has_function_privilege('pg_control_system()', 'EXECUTE') AS shown, oid || ' ' || datname AS database
    FROM pg_database WHERE datname = current_database()`.execute(db)
  const [state] = rows
  if (state?.shown !== true) return `${state?.database} ${schema}`
  const cluster = await sql<{ id: string }>`SELECT system_identifier::text AS id FROM pg_control_system()`.execute(db)
  return `${cluster.rows[0]?.id} ${state.database} ${schema}`
}

/** Lists the foreign keys in other schemas that refer to the users. An import does not copy the tables with these keys. */
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
 * Reading a table can run code of its owner, such as a cast to `json` or a function in the predicate of an index. The code has
 * the rights of the reader. The reader must have no right that reaches outside the database, not even by SET ROLE.
 * @throws Error if the user is a superuser of the source, or may run programs or access files of its server
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
