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
   * For transactions and for queries that are not prepared. In a cluster, they run on the coordinator. Table names have no schema
   * and prefix, because this object adds both.
   */
  readonly db: Kysely<Tables>
  readonly pools: Pools
  /**
   * Uses a separate connection, so that health checks do not wait for requests. In a cluster, this connection leads to the
   * coordinator.
   */
  readonly checks: Kysely<Tables>
  readonly names: Names
  /** Runs work with `db`. If the signal is aborted, the running statement is cancelled and no further statement is sent. */
  until<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>
  /**
   * Runs a read that may return slightly old data. Uses the standby if it keeps up, otherwise the primary. If the standby fails,
   * the read runs again on the primary. These reads have separate connections, so long reads do not delay writes. If the signal
   * is aborted, the read is cancelled.
   */
  readLagging<T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Like `readLagging`, but always on the primary. Use it for data that must be visible immediately after a write. */
  readLong<T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Returns the state of the standby and its pool. Returns `undefined` if no standby is set. */
  standby(): (StandbyState & { readonly connections: Connections }) | undefined
  /** Returns the connections of the write pool. */
  connections(): Connections
  /** Returns the connections to the primary for reads that may return old data. */
  laggingConnections(): Connections
  /** Returns whether rows are moving now, and how tenants are found. */
  mode(): DatabaseMode
  /** Continues in another mode with new connections. Running statements end on the old connections. */
  switchMode(mode: DatabaseMode): void
  /** Resolves if the server that requests enter through answers. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Opens all pools. Connections open in the background, so call `waitForDatabase` first at the start. */
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

/** Checks that the database answers. @throws Error if it does not */
export async function pingDatabase<Tables>(db: Kysely<Tables>): Promise<void> {
  await sql`SELECT`.execute(db)
}

interface StandbyContext<Tables> {
  readonly primary: Server<Tables>
  readonly getMode: () => DatabaseMode
}

/** Opens the standby. Returns functions that read from the standby, or from the primary if the standby cannot be used. */
function openStandby<Tables>(
  config: DatabaseConfig,
  options: StandbyConfig,
  { primary, getMode }: StandbyContext<Tables>,
) {
  // The loss of the standby fails no request. `onChange` reports it once instead of at each attempt to connect.
  const server = openServer<Tables>({ ...config, onConnectionError: () => {} }, options.url, getMode)
  const watch = watchStandby(options, primary.readers.query, server.readers.query)
  // A standby contains the rows of only one server, so a cluster reads from the primary.
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
