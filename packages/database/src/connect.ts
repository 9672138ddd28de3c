import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { type Connections, connectionsOf } from './driver/pool.ts'
import type { Statement } from './driver/statement-query.ts'
import {
  closePool,
  type DatabaseConfig,
  openQueries,
  openServer,
  openServicePool,
  type Server,
  typeParsers,
} from './open-server.ts'
import { createPools, type DatabaseMode, type Pools } from './pools.ts'
import { type StandbyConfig, type StandbyState, watchStandby } from './standby.ts'

export interface Database<Tables> {
  /**
   * For queries that are not hot, and for transactions. In a cluster they run on the coordinator. Table names
   * are plain: schema and prefix are added.
   */
  readonly db: Kysely<Tables>
  readonly pools: Pools
  /**
   * Uses a connection of its own, so that health checks do not wait behind requests. In a cluster it leads to
   * the coordinator.
   */
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
  /** Whether rows are moving now, and how owners are found. */
  mode(): DatabaseMode
  /** Goes on in another mode, with new connections. Statements that are under way end on the old connections. */
  switchMode(mode: DatabaseMode): void
  /** Resolves when the server answers by which requests enter. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Opens the pools and the read pool. Connections open in the background: call `waitForDatabase` first at the start. */
export function openDatabase<Tables>(config: DatabaseConfig): Database<Tables> {
  let mode: DatabaseMode = { findTenant: config.findOwner, isRebalancing: false }
  const getMode = () => mode
  const primary = openServer<Tables>(config, config.url, getMode)
  const { coordinatorUrl: url = config.url } = config
  const coordinator = url === config.url ? primary : openServer<Tables>({ ...config, url }, url, getMode)
  const standby = config.standby && openStandby(config, config.standby, { primary, getMode })
  const { pool, lagging } = primary
  const { db, until } = coordinator
  const checkPool = openServicePool({ ...config, url, poolSize: 1 })
  const pingPool = coordinator === primary ? checkPool : openServicePool({ ...config, poolSize: 1 })
  const checks = openQueries<Tables>(config, checkPool)
  return {
    db,
    pools: createPools({
      ...primary,
      coordinator,
      laggingQuery: standby?.query,
      prepared: config.prepared,
      mode: getMode,
      readAgain: config.readAgain,
      spans: config.spans,
      parserOf: typeParsers(config.timestamps),
    }),
    names: config.names,
    checks,
    until,
    readLagging: standby?.read ?? lagging.run,
    readLong: lagging.run,
    standby: () => standby?.state(),
    connections: () => connectionsOf(pool),
    laggingConnections: () => connectionsOf(lagging.pool),
    mode: getMode,
    switchMode: (next) => {
      mode = next
      for (const server of new Set([primary, coordinator])) server.reopen()
    },
    ping: async () => {
      await pingPool.query('SELECT 1')
    },
    close: async () => {
      if (pingPool !== checkPool) await pingPool.end()
      const servers = [...new Set([primary, coordinator])].map((server) => server.close())
      await Promise.all([standby?.close(), closePool(checks, checkPool), ...servers])
    },
  }
}

/** Asks the database for nothing, as a check of its health. @throws Error when it does not answer */
export async function pingDatabase<Tables>(db: Kysely<Tables>): Promise<void> {
  await sql`SELECT`.execute(db)
}

interface StandbyContext<Tables> {
  readonly primary: Server<Tables>
  readonly getMode: () => DatabaseMode
}

/** Opens the standby, and returns the ways of reads that may lag behind, which the primary serves too. */
function openStandby<Tables>(
  config: DatabaseConfig,
  options: StandbyConfig,
  { primary, getMode }: StandbyContext<Tables>,
) {
  // The loss of the standby fails no request. `onChange` reports it once, not at every attempt to connect.
  const server = openServer<Tables>({ ...config, onConnectionError: () => {} }, options.url, getMode)
  const watch = watchStandby(options, primary.readers.query, server.readers.query)
  // A standby has the rows of one server only.
  const choose = <T>(onStandby: () => Promise<T>, onPrimary: () => Promise<T>): Promise<T> =>
    getMode().findTenant ? onPrimary() : watch.choose(onStandby, onPrimary)
  return {
    query: (statement: Statement) =>
      choose(
        () => server.readers.query(statement),
        () => primary.readers.query(statement),
      ),
    read: <T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T> =>
      choose(
        () => server.lagging.run(read, signal),
        () => primary.lagging.run(read, signal),
      ),
    state: () => ({ ...watch.state(), connections: connectionsOf(server.lagging.pool) }),
    close: () => {
      watch.close()
      return server.close()
    },
  }
}
