import { AsyncLocalStorage } from 'node:async_hooks'
import { connect } from 'node:net'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import { NoConnectionError } from '../unavailable.ts'
import { internalsOf } from './pg-internals.ts'

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
  return new NoConnectionError('whoever asked has left before a connection was free')
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
