import pg from 'pg'
import { NoConnectionError } from '../unavailable.ts'
import { connectToAny } from './hosts.ts'
import { internalsOf } from './pg-internals.ts'

/** The options of pg, and what happens to connections that are lost. Times are in milliseconds. */
export interface PoolOptions extends pg.PoolConfig {
  /** A connection that owes an answer and sends nothing for this time is closed; 0: never. */
  readonly silenceMs: number
  /** How many hosts a connection may lead to, of which its client picks one. */
  readonly hosts: number
  /** The longest wait for a connection, also for one that others use. */
  readonly connectionWaitMs: number
  /** Called for each idle connection that is lost. */
  readonly onConnectionError: (error: Error) => void
}

/** How many connections a pool has in each state, for the gauge `db_pool_connections`. */
export interface Connections {
  readonly idle: number
  readonly used: number
  /** Calls that wait for a connection. */
  readonly waiting: number
}

/** Opens a pool, which connects when it is first used. The loss of an idle connection is reported, and ends nothing. */
export function openPool(options: PoolOptions): pg.Pool {
  const { silenceMs, hosts, connectionWaitMs, onConnectionError, ...config } = options
  const Pool = hosts > 1 ? poolOver(hosts) : pg.Pool
  const pool = new Pool({ ...config, connectionTimeoutMillis: connectionWaitMs, idleTimeoutMillis: 60_000 })
  if (silenceMs > 0) endSilentConnections(pool, silenceMs)
  // The loss of a connection in use reaches its statement. Without a listener of its own it would also end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', (error) => {
    // pg adds the client to the error: its statements, its address and the server's secret key would be logged.
    Reflect.deleteProperty(error, 'client')
    onConnectionError(error)
  })
  return pool
}

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (destroy?: boolean) => void,
) => void

/** A pool that tries other hosts when one refuses a connection. */
function poolOver(hosts: number): typeof pg.Pool {
  return class extends pg.Pool {
    // One method stands for all overloads of pg, as in `clientUnder`.
    override connect(...given: never[]): never
    override connect(done?: Connected): unknown {
      const connecting = connectToAny(() => super.connect(), hosts)
      if (!done) return connecting
      connecting.then(
        (client) => done(undefined, client, client.release),
        (error: Error) => done(error, undefined, () => {}),
      )
      return undefined
    }
  }
}

/**
 * Replaces the connections of a pool: idle ones now, and those in use when they are released, until `keepConnections` is called.
 */
export function replaceConnections(pool: pg.Pool): void {
  pool.options.maxUses = 1
  for (let count = pool.idleCount; count > 0; count -= 1) {
    // Where the pool cannot lend the connection, it has closed it already: there is nothing left to replace.
    pool.connect().then(
      (client) => client.release(true),
      () => {},
    )
  }
}

/** Keeps the connections of a pool when they are released. */
export function keepConnections(pool: pg.Pool): void {
  pool.options.maxUses = Number.POSITIVE_INFINITY
}

/** The connections of a pool by state, at this moment. */
export function connectionsOf({ idleCount, totalCount, waitingCount }: pg.Pool): Connections {
  return { idle: idleCount, used: totalCount - idleCount, waiting: waitingCount }
}

/**
 * Closes connections of a pool that owe an answer and have sent nothing for the given milliseconds. Their server has vanished
 * without closing the connection, so its statement timeout ends nothing. pg's own `query_timeout` sets a timer for each
 * statement, which keeps the rows of finished statements until the next full collection: reading 240 MB of rows took 267 MiB of
 * memory with it and 136 MiB without, and a quarter more time.
 */
function endSilentConnections(pool: pg.Pool, silenceMs: number): void {
  pool.on('connect', (client) => {
    const internals = internalsOf(client)
    const { stream } = internals.connection
    // Every byte in either direction starts this timeout again.
    stream.setTimeout(silenceMs)
    stream.on('timeout', () => {
      if (!internals.readyForQuery) {
        stream.destroy(new NoConnectionError(`the database has been silent for ${silenceMs} ms`))
      }
    })
  })
}
