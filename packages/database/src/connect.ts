import type { Names } from '@trestle/migrations/migration.ts'
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import type pg from 'pg'
import { createCancellablePool } from './driver/cancellable-pool.ts'
import { type PipelinedClients, startPipelinedClients } from './driver/pipelined-clients.ts'
import { type Connections, connectionsOf, openPool } from './driver/pool.ts'
import { type SettingsOptions, underSettings } from './driver/session-settings.ts'
import type { Statement } from './driver/statement-query.ts'
import { createLanes, type Lanes } from './lanes.ts'
import type { QuerySpans } from './query-spans.ts'
import { type StandbyConfig, type StandbyState, watchStandby } from './standby.ts'
import { TablePrefixPlugin } from './table-prefix.ts'
import { typeParsers } from './timestamps.ts'

export interface DatabaseConfig {
  /** `postgres://…` */
  readonly url: string
  readonly names: Names
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
  /** Connections of the write pool. */
  readonly poolSize: number
  /** The role that the service works as (`SET ROLE` at connection); undefined: that of the URL. */
  readonly role?: string | undefined
  /** Ends a statement of either lane; 0 lets it take any time. */
  readonly statementTimeoutMs: number
  /** Ends a statement of the write pool instead, where it may wait for locks longer than others may take. */
  readonly writeTimeoutMs?: number
  /** Connections for `readLagging`, on each server; 4 by default. They are opened when they are needed. */
  readonly laggingConnections?: number
  /** Connections of the read lane; 2 by default, 0 where nobody uses it. */
  readonly readConnections?: number
  /** Ends the wait for a lock (55P03); below the statement timeout, so that it speaks first. */
  readonly lockTimeoutMs: number
  /**
   * False where a pooler in transaction mode stands between, so that nothing may be left in a session: prepared queries lose
   * their name, role and limits go with each transaction.
   */
  readonly prepared: boolean
  /** What a timestamptz becomes: a Date (the default), or RFC 3339 text that keeps its microseconds. */
  readonly timestamps?: 'date' | 'rfc3339'
  /** A copy of the database for reads that may lag behind; undefined: they are the primary's too. */
  readonly standby?: StandbyConfig | undefined
  /** Undefined where nothing is traced. */
  readonly spans?: QuerySpans | undefined
  /** Told of every lost or refused connection; requests get their own error. */
  readonly onConnectionError: (error: Error) => void
}

/** The open database of a service. */
export interface Database<Tables> {
  /** For queries that are not hot, and for transactions. Plain table names; schema and prefix are added. */
  readonly db: Kysely<Tables>
  /** For prepared queries. */
  readonly lanes: Lanes
  /** Over a connection of its own, so that what it asks waits behind no request. */
  readonly checks: Kysely<Tables>
  readonly names: Names
  /** Runs work with `db`; its statements are cancelled, and none is sent any more, once the signal is aborted. */
  until<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>
  /**
   * Runs a read that may lag behind, on the standby where one keeps up. It may be run again on the primary. It has connections
   * of its own, so that reads which take long keep nobody from writing, and is cancelled when the signal is aborted.
   */
  readLagging<T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** The same on the primary alone, for what must be found as soon as it is written. */
  readLong<T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** What is known of the standby, with the connections of its pool; undefined where none is set. */
  standby(): (StandbyState & { readonly connections: Connections }) | undefined
  /** Connections of the write pool. */
  connections(): Connections
  /** Connections of the primary for reads that may lag behind. */
  laggingConnections(): Connections
  /** Resolves when the primary answers, over the connection of `checks`. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Beyond the server's own limit: a connection that says nothing for so long is taken for dead. */
const SILENCE_MS = 2_000
const LAGGING_CONNECTIONS = 4

/**
 * The read lane takes prepared queries alone, which find rows by key: one plan serves all values. PostgreSQL would plan
 * some of them anew each time, which took a quarter of its time in a read. Nor must that plan be one for tables that were
 * small when it was made.
 */
const KEEP_PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' } as const

/** Opens the pool and the read lane. Connections are made in the background: use `waitForDatabase` first at start. */
export function openDatabase<Tables>(config: DatabaseConfig): Database<Tables> {
  const primary = openServer<Tables>(config, config.url)
  // Its loss fails no request, and is told by `onChange` once instead of at every attempt.
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
      ...{ ...primary, laggingQuery },
      ...{ prepared: config.prepared, spans: config.spans, parserOf: typeParsers(config.timestamps) },
    }),
    ...{ names: config.names, checks },
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
  readonly lagging: LaggingReads<Tables>
}

/** Reads that may lag behind, over connections of their own. */
interface LaggingReads<Tables> {
  readonly pool: pg.Pool
  run<T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T>
  close(): Promise<void>
}

function openServer<Tables>(config: DatabaseConfig, url: string): Server<Tables> {
  const { statementTimeoutMs, writeTimeoutMs = statementTimeoutMs } = config
  const pool = openServicePool({ ...config, url, statementTimeoutMs: writeTimeoutMs })
  const readers = startPipelinedClients(connectionOptions({ ...config, url }, KEEP_PLANS), {
    count: config.readConnections ?? 2,
    silenceMs: statementTimeoutMs + SILENCE_MS,
    parserOf: typeParsers(config.timestamps),
    onConnectionError: config.onConnectionError,
  })
  const { pool: queryPool, until } = createCancellablePool(pool)
  return { db: openQueries(config, queryPool), until, pool, readers, lagging: openLagging({ ...config, url }) }
}

function openLagging<Tables>(config: DatabaseConfig): LaggingReads<Tables> {
  const pool = openServicePool({ ...config, poolSize: config.laggingConnections ?? LAGGING_CONNECTIONS })
  const cancellable = createCancellablePool(pool)
  const db = openQueries<Tables>(config, cancellable.pool)
  return {
    pool,
    run: (read, signal) => cancellable.until(signal, () => read(db)),
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
  // Kysely ends the pool only where it has used it; the write lane uses it too.
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
