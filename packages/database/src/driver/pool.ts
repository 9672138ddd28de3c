import { AsyncLocalStorage } from 'node:async_hooks'
import { connect } from 'node:net'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { NoConnectionError } from '../unavailable.ts'
import { connectToAny } from './hosts.ts'
import { internalsOf } from './session-settings.ts'

interface PoolOptions extends pg.PoolConfig {
  /** A connection is closed if an answer is due and the server sends nothing for this time in milliseconds. 0 means never. */
  readonly silenceMs: number
  /** The number of hosts, from which the client chooses one for each connection. */
  readonly hosts: number
  /** The longest wait for a connection, including the time until another user releases one. */
  readonly connectionWaitMs: number
  /** Called for each lost idle connection. */
  readonly onConnectionError: (error: Error) => void
}

/** The numbers of connections of a pool in each state, for the gauge `db_pool_connections`. */
export interface Connections {
  readonly idle: number
  readonly used: number
  readonly waiting: number
}

/** Opens a pool, which connects on first use. A lost idle connection is reported and does not end the process. */
export function openPool(options: PoolOptions): pg.Pool {
  const { silenceMs, hosts, connectionWaitMs, onConnectionError, ...config } = options
  const Pool = hosts > 1 ? poolOver(hosts) : pg.Pool
  const pool = new Pool({ ...config, connectionTimeoutMillis: connectionWaitMs, idleTimeoutMillis: 60_000 })
  if (silenceMs > 0) endSilentConnections(pool, silenceMs)
  // The statement of a lost connection fails in any case. Without a listener, the process would end too.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', (error) => {
    // pg adds the client to the error. The log would then contain its statements, its address and the secret key of the session.
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

/** Returns the class of a pool that tries other hosts if one refuses a connection. */
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

/** Replaces connections until `keepConnections` is called: idle ones now, those in use when they are released. */
export function replaceConnections(pool: pg.Pool): void {
  pool.options.maxUses = 1
  for (let count = pool.idleCount; count > 0; count -= 1) {
    // If the pool cannot lend the connection, it has already closed it. Nothing is left to replace.
    pool.connect().then(
      (client) => client.release(true),
      () => {},
    )
  }
}

/** Makes a pool keep its connections again after their release. */
export function keepConnections(pool: pg.Pool): void {
  pool.options.maxUses = Number.POSITIVE_INFINITY
}

export function connectionsOf({ idleCount, totalCount, waitingCount }: pg.Pool): Connections {
  return { idle: idleCount, used: totalCount - idleCount, waiting: waitingCount }
}

/**
 * Closes connections on which an answer is due and the server has sent nothing for the given milliseconds. The server of such a
 * connection has vanished without closing it, so no statement timeout applies. pg's own `query_timeout` is no alternative. It
 * sets a timer for each statement, which keeps the rows of finished statements until the next full garbage collection. Reading
 * 240 MB of rows took 267 MiB of memory with it instead of 136 MiB, and a quarter more time.
 */
function endSilentConnections(pool: pg.Pool, silenceMs: number): void {
  pool.on('connect', (client) => {
    const internals = internalsOf(client)
    const { stream } = internals.connection
    // Every byte in either direction restarts this timeout.
    stream.setTimeout(silenceMs)
    stream.on('timeout', () => {
      if (!internals.readyForQuery) {
        stream.destroy(new NoConnectionError(`the database has been silent for ${silenceMs} ms`))
      }
    })
  })
}

/** A pool with statements that can be cancelled. */
export interface CancellablePool {
  readonly pool: PostgresPool
  /**
   * Runs work with the pool. If the signal is aborted, the running statement is cancelled and no further statement is sent.
   * @throws NoConnectionError if the signal is aborted before a connection is free
   */
  until<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>
}

/**
 * The code of a CancelRequest.
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-CANCELREQUEST
 */
const CANCEL_REQUEST = 80_877_102

/** The longest time for a cancel request, in milliseconds. */
const CANCEL_MS = 2_000

/**
 * Makes the statements of a pool cancellable: `until` cancels the running statement if its signal is aborted.
 * @param admit throws if no connection may be lent now
 */
export function createCancellablePool(pool: pg.Pool, admit: () => void = () => {}): CancellablePool {
  // Kysely takes its connection inside the work and passes no arguments to the pool, so the signal needs an async context.
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

/** Returns an error that is logged as an outage and not as a defect. The client has disconnected, so nobody reads the answer. */
function abortedError(): NoConnectionError {
  return new NoConnectionError('client disconnected while waiting for a connection')
}

function cancelWhenAborted(client: pg.PoolClient, signal: AbortSignal): void {
  // Override `release` for this use only. The pool sets it again for each use of the client.
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
    // Wait for a running cancel request. Otherwise it would cancel a statement of the next user of the connection.
    if (cancelled === undefined) release(error)
    else void cancelled.then(() => release(error))
  }
}

/**
 * Asks the server to cancel the statement of a connection. The protocol requires a separate connection for the request, which the
 * server closes after it has forwarded the request. Poolers support this too. A failed request is ignored, because the statement
 * timeout ends the statement in any case.
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
    // Do not call `end` here, because a pooler drops the request if its client closes the connection first.
    socket.write(request)
  })
}

/**
 * Returns a pool for Kysely that runs statements with callbacks. With promises, pg keeps the rows of a finished statement until
 * the next full garbage collection. Reading 240 MB of rows took 312 MiB of memory with promises and 140 MiB with callbacks, and a
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
    // Kysely also calls `query` with a cursor, but no service uses that.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy),
  }
}
