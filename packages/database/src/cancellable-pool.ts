import { AsyncLocalStorage } from 'node:async_hooks'
import { connect } from 'node:net'
import type { PostgresPool } from 'kysely'
import type pg from 'pg'
import { kyselyPool } from './kysely-pool.ts'
import { NoConnectionError } from './unavailable.ts'

/** Connections whose statements end when nobody waits for their rows any more. */
export interface CancellablePool {
  readonly pool: PostgresPool
  /** Runs work; its statements are cancelled, and those that wait for a connection are not sent, once the signal is aborted. */
  until<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>
}

/** Number of a request to cancel in the protocol of PostgreSQL. */
const CANCEL_REQUEST = 80_877_102

/** What pg knows of a connection but leaves out of its types. */
interface BackendKey {
  readonly processID: number
  readonly secretKey: number
}

/** Lets statements of a pool be cancelled. */
export function createCancellablePool(pool: pg.Pool): CancellablePool {
  // Kysely connects somewhere below the work, and passes nothing on to the pool.
  const signals = new AsyncLocalStorage<AbortSignal | undefined>()
  return {
    pool: kyselyPool(pool, async () => {
      const signal = signals.getStore()
      if (signal?.aborted) throw left()
      const client = await pool.connect()
      if (signal !== undefined) cancelWhenAborted(client, signal)
      return client
    }),
    until: (signal, work) => (signal === undefined ? work() : signals.run(signal, work)),
  }
}

/** An outage rather than a defect for whoever logs it: nobody is there to read the answer. */
function left(): NoConnectionError {
  return new NoConnectionError('whoever asked has left before a connection was free')
}

function cancelWhenAborted(client: pg.PoolClient, signal: AbortSignal): void {
  // The pool sets it anew whenever it lends the client.
  const release = client.release
  if (signal.aborted) {
    release()
    throw left()
  }
  let cancelled: Promise<void> | undefined
  const cancel = () => {
    cancelled = cancelStatement(client)
  }
  signal.addEventListener('abort', cancel, { once: true })
  client.release = (error) => {
    signal.removeEventListener('abort', cancel)
    // A request that is still under way would end the statement of whoever gets the connection next.
    if (cancelled === undefined) release(error)
    else void cancelled.then(() => release(error))
  }
}

/**
 * Asks the server to end what a connection runs. The request goes over a connection of its own, as the protocol wants it, and
 * through a pooler too. The server closes that connection when it has passed the request on; a failure is no news, since the
 * statement timeout ends the statement as well.
 */
function cancelStatement(client: pg.PoolClient): Promise<void> {
  // Known from the first message of the server on.
  const { processID, secretKey } = client as unknown as BackendKey
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

const CANCEL_MS = 2_000
