import type { Names } from '@trestle/migrations/migration.ts'
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import type pg from 'pg'
import { createCancellablePool } from './driver/cancellable-pool.ts'
import { type PipelinedClients, startPipelinedClients } from './driver/pipelined-clients.ts'
import { type Connections, connectionsOf, openPool } from './driver/pool.ts'
import { type SettingsOptions, underSettings } from './driver/session-settings.ts'
import type { Statement } from './driver/statement-query.ts'
import { createLanes, type Lane, type Lanes } from './lanes.ts'
import type { QuerySpans } from './query-spans.ts'
import { type StandbyConfig, type StandbyState, watchStandby } from './standby.ts'
import { TablePrefixPlugin } from './table-prefix.ts'
import { typeParsers } from './timestamps.ts'

/** How to reach a database. Times are in milliseconds. */
export interface DatabaseConfig {
  /** `postgres://…` */
  readonly url: string
  readonly names: Names
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
  /** Connections of the write pool. */
  readonly poolSize: number
  /** The role that the service takes on connecting (`SET ROLE`). Undefined: the user of the URL. */
  readonly role?: string | undefined
  /** Longest time of a statement on any lane. 0: no limit. */
  readonly statementTimeoutMs: number
  /** Longest time of a statement on the write pool, which may wait for locks. By default `statementTimeoutMs`. */
  readonly writeTimeoutMs?: number
  /** Connections for `readLagging` and `readLong`, on each server. They open when they are needed. By default 4. */
  readonly laggingConnections?: number
  /** Connections of the read lane. By default 2; 0 for a process that does not use it. */
  readonly readConnections?: number
  /** Longest wait for a lock (55P03). Keep it below the statement timeout, so that the error names the lock. */
  readonly lockTimeoutMs: number
  /**
   * False behind a pooler in transaction mode, where nothing may stay in a session: prepared queries lose their names, and role
   * and limits go with each transaction.
   */
  readonly prepared: boolean
  /** Type of timestamptz values: a Date (the default), or RFC 3339 text, which keeps microseconds. */
  readonly timestamps?: 'date' | 'rfc3339'
  /**
   * How the owner of an object is found in a database that is distributed over several servers, by a name of the object.
   * Undefined: the database is not distributed.
   */
  readonly findOwner?: ((read: Lane, name: string) => Promise<string>) | undefined
  /** A standby for reads that may lag behind. Undefined: the primary serves these reads too. */
  readonly standby?: StandbyConfig | undefined
  /** Undefined where requests are not traced. */
  readonly spans?: QuerySpans | undefined
  /** Called for every lost or refused connection. Requests get their own errors. */
  readonly onConnectionError: (error: Error) => void
}

/** An open database of a service. */
export interface Database<Tables> {
  /** For queries that are not hot, and for transactions. Table names are plain: schema and prefix are added. */
  readonly db: Kysely<Tables>
  /** For prepared queries. */
  readonly lanes: Lanes
  /** Uses a connection of its own, so that health checks do not wait behind requests. */
  readonly checks: Kysely<Tables>
  readonly names: Names
  /** Runs work with `db`. When the signal is aborted, its statement is cancelled and no further one is sent. */
  until<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>
  /**
   * Runs a read that may lag behind, on the standby if it keeps up, otherwise on the primary. When the standby fails, the read
   * runs again on the primary. These reads have connections of their own, so that long reads delay no write. They are cancelled
   * when the signal is aborted.
   */
  readLagging<T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** As `readLagging`, but always on the primary: for data that must be visible as soon as it is written. */
  readLong<T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** State of the standby and of its pool. Undefined where no standby is set. */
  standby(): (StandbyState & { readonly connections: Connections }) | undefined
  /** Connections of the write pool. */
  connections(): Connections
  /** Connections of the primary for reads that may lag behind. */
  laggingConnections(): Connections
  /** Resolves when the primary answers, over the connection of `checks`. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** How long after the server's own time limit a silent connection counts as dead. */
const SILENCE_MS = 2_000
const LAGGING_CONNECTIONS = 4

/**
 * The read lane runs only prepared queries that find rows by key, so one plan fits all values. PostgreSQL would plan some of
 * them again for each call, which took a quarter of the time of a read. A plan that was made while tables were small must not
 * read them whole.
 */
const KEEP_PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' } as const
/** A distributed database plans a query with its values, which say what node has the rows. */
const PLAN_WITH_VALUES = { plan_cache_mode: 'auto' } as const

/** Opens the pools and the read lane. Connections open in the background: call `waitForDatabase` first at the start. */
export function openDatabase<Tables>(config: DatabaseConfig): Database<Tables> {
  const primary = openServer<Tables>(config, config.url)
  // The loss of the standby fails no request. `onChange` reports it once, not at every attempt to connect.
  const quiet = { ...config, onConnectionError: () => {} }
  const standby = config.standby && openServer<Tables>(quiet, config.standby.url)
  const choice = config.standby && standby && watchStandby(config.standby, primary.readers.query, standby.readers.query)
  const { db, pool, readers } = primary
  const checkPool = openServicePool({ ...config, poolSize: 1 })
  const checks = openQueries<Tables>(config, checkPool)
  const laggingQuery =
    choice &&
    standby &&
    ((statement: Statement) =>
      choice.choose(
        () => standby.readers.query(statement),
        () => readers.query(statement),
      ))
  return {
    db,
    lanes: createLanes({
      ...primary,
      laggingQuery,
      prepared: config.prepared,
      findOwner: config.findOwner,
      spans: config.spans,
      parserOf: typeParsers(config.timestamps),
    }),
    names: config.names,
    checks,
    until: primary.until,
    readLagging: (read, signal) =>
      choice && standby
        ? choice.choose(
            () => standby.lagging.run(read, signal),
            () => primary.lagging.run(read, signal),
          )
        : primary.lagging.run(read, signal),
    readLong: primary.lagging.run,
    standby: () => choice && standby && { ...choice.state(), connections: connectionsOf(standby.lagging.pool) },
    connections: () => connectionsOf(pool),
    laggingConnections: () => connectionsOf(primary.lagging.pool),
    ping: async () => {
      await checkPool.query('SELECT 1')
    },
    close: async () => {
      choice?.close()
      await Promise.all([closePool(checks, checkPool), closeServer(primary), standby && closeServer(standby)])
    },
  }
}

/** The connections to one server. */
interface Server<Tables> {
  readonly db: Kysely<Tables>
  readonly until: Database<Tables>['until']
  readonly pool: pg.Pool
  readonly readers: PipelinedClients
  readonly lagging: ReturnType<typeof openLagging<Tables>>
}

function openServer<Tables>(config: DatabaseConfig, url: string): Server<Tables> {
  const { statementTimeoutMs, writeTimeoutMs = statementTimeoutMs } = config
  const pool = openServicePool({ ...config, url, statementTimeoutMs: writeTimeoutMs })
  const readers = startPipelinedClients(
    connectionOptions({ ...config, url }, config.findOwner ? PLAN_WITH_VALUES : KEEP_PLANS),
    {
      count: config.readConnections ?? 2,
      silenceMs: statementTimeoutMs + SILENCE_MS,
      parserOf: typeParsers(config.timestamps),
      onConnectionError: config.onConnectionError,
    },
  )
  const { pool: queryPool, until } = createCancellablePool(pool)
  return { db: openQueries(config, queryPool), until, pool, readers, lagging: openLagging({ ...config, url }) }
}

/** Opens connections of their own for reads that may lag behind. */
function openLagging<Tables>(config: DatabaseConfig) {
  const pool = openServicePool({ ...config, poolSize: config.laggingConnections ?? LAGGING_CONNECTIONS })
  const cancellable = createCancellablePool(pool)
  const db = openQueries<Tables>(config, cancellable.pool)
  return {
    pool,
    run: <T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T> =>
      cancellable.until(signal, () => read(db)),
    close: () => closePool(db, pool),
  }
}

function openServicePool(config: DatabaseConfig): pg.Pool {
  const { statementTimeoutMs, poolSize, onConnectionError } = config
  return openPool({
    ...connectionOptions(config),
    max: poolSize,
    silenceMs: statementTimeoutMs > 0 ? statementTimeoutMs + SILENCE_MS : 0,
    onConnectionError,
  })
}

function openQueries<Tables>({ names, spans }: DatabaseConfig, pool: PostgresPool): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new TablePrefixPlugin(names)],
    ...(spans && { log: (event) => spans.record('query', event.queryDurationMillis, event.level === 'error') }),
  })
}

async function closeServer<Tables>({ db, pool, readers, lagging }: Server<Tables>): Promise<void> {
  await Promise.all([closePool(db, pool), lagging.close(), readers.close()])
}

async function closePool<Tables>(db: Kysely<Tables>, pool: pg.Pool): Promise<void> {
  await db.destroy()
  // Kysely ends the pool only if it has used it. The write lane uses the pool without Kysely.
  if (!pool.ending) await pool.end()
}

function connectionOptions(
  config: DatabaseConfig,
  more: Readonly<Record<string, string>> = {},
): pg.ClientConfig & SettingsOptions {
  const settings = {
    statement_timeout: config.statementTimeoutMs,
    lock_timeout: config.lockTimeoutMs,
    TimeZone: 'UTC',
    ...more,
    ...(config.role === undefined ? {} : { role: config.role }),
  }
  return {
    connectionString: config.url,
    application_name: config.applicationName,
    keepAlive: true,
    types: { getTypeParser: typeParsers(config.timestamps) },
    ...underSettings(settings, config.prepared),
  }
}
