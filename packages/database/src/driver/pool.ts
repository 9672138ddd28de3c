import { AsyncLocalStorage } from 'node:async_hooks'
import { connect } from 'node:net'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { NoConnectionError } from '../unavailable.ts'
import { connectToAny } from './hosts.ts'
import { internalsOf } from './session-settings.ts'

interface PoolOptions extends pg.PoolConfig {
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

/** A pool whose statements can be cancelled. */
export interface CancellablePool {
  readonly pool: PostgresPool
  /**
   * Runs work with the pool. When the signal is aborted, the statement that runs is cancelled and no further one is sent.
   * @throws NoConnectionError when the signal is aborted before a connection is free
   */
  until<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>
}

/**
 * The code of a CancelRequest.
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-CANCELREQUEST
 */
const CANCEL_REQUEST = 80_877_102

/** How long a request to cancel may take, in milliseconds. */
const CANCEL_MS = 2_000

/**
 * Makes the statements of a pool cancellable: `until` ends the one that runs when its signal is aborted.
 * @param admit throws when no connection may be lent now
 */
export function createCancellablePool(pool: pg.Pool, admit: () => void = () => {}): CancellablePool {
  // Kysely takes its connection somewhere inside the work, and passes no argument on to the pool.
  const signals = new AsyncLocalStorage<AbortSignal | undefined>()
  return {
    pool: kyselyPool(pool, async () => {
      const signal = signals.getStore()
      if (signal?.aborted) throw abortedError()
      admit()
      const client = await pool.connect()
      if (signal !== undefined) cancelWhenAborted(client, signal)
      return client
    }),
    until: (signal, work) => (signal === undefined ? work() : signals.run(signal, work)),
  }
}

/** Logged as an outage, not as a defect: the client has left, so no answer is read. */
function abortedError(): NoConnectionError {
  return new NoConnectionError('client disconnected while waiting for a connection')
}

function cancelWhenAborted(client: pg.PoolClient, signal: AbortSignal): void {
  // The pool sets `release` again whenever it lends the client.
  const release = client.release
  if (signal.aborted) {
    release()
    throw abortedError()
  }
  let cancelled: Promise<void> | undefined
  const cancel = () => {
    cancelled = cancelStatement(client)
  }
  signal.addEventListener('abort', cancel, { once: true })
  client.release = (error) => {
    signal.removeEventListener('abort', cancel)
    // A request that is still under way would cancel a statement of the next user of the connection.
    if (cancelled === undefined) release(error)
    else void cancelled.then(() => release(error))
  }
}

/**
 * Asks the server to cancel the statement of a connection. The protocol wants the request on a connection of its own, which the
 * server closes when it has passed the request on. Poolers support it too. A failed request is ignored: the statement timeout
 * ends the statement in any case.
 */
function cancelStatement(client: pg.PoolClient): Promise<void> {
  const { processID, secretKey } = internalsOf(client)
  const request = Buffer.alloc(16)
  for (const [at, word] of [request.length, CANCEL_REQUEST, processID, secretKey].entries()) {
    request.writeInt32BE(word, at * 4)
  }
  const { host, port } = client
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  return new Promise((resolve) => {
    socket.once('error', () => {})
    socket.once('close', () => resolve())
    socket.setTimeout(CANCEL_MS, () => socket.destroy())
    // Not `end`: a pooler forgets the request when its client closes first.
    socket.write(request)
  })
}

/**
 * A pool as Kysely uses it, whose statements answer by callback. Where pg answers by a promise, the rows of a finished statement
 * live until the next full collection: reading 240 MB of rows took 312 MiB of memory by promises and 140 MiB by callbacks, and a
 * quarter more time.
 * @param connect lends a connection of the pool
 */
function kyselyPool(pool: pg.Pool, connect: () => Promise<pg.PoolClient>): PostgresPool {
  return {
    connect: async () => kyselyClient(await connect()),
    end: () => pool.end(),
    options: pool.options,
  }
}

function kyselyClient(client: pg.PoolClient): PostgresPoolClient {
  const query = (text: string, values: readonly unknown[]) =>
    new Promise<pg.QueryResult>((resolve, reject) => {
      client.query(text, [...values], (error, result) => (error ? reject(error) : resolve(result)))
    })
  return {
    // Kysely also calls `query` with a cursor, which no service uses.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy),
  }
}
