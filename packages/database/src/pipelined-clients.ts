import pg from 'pg'
import { NoConnectionError } from './unavailable.ts'

/** A statement with its values; `name` makes PostgreSQL keep its plan. */
export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values: unknown[]
}

/** A few connections on which statements follow each other without waiting for answers. */
export interface PipelinedClients {
  query(statement: Statement): Promise<pg.QueryResult>
  close(): Promise<void>
}

const RECONNECT_MS = 250

/**
 * Opens `count` pipelined connections and keeps them open: a lost one is replaced as soon as the server takes it.
 * `query` takes them in turn and rejects at once with NoConnectionError while none is open.
 */
export function startPipelinedClients(
  options: pg.ClientConfig,
  count: number,
  onConnectionError: (error: Error) => void,
): PipelinedClients {
  const slots = Array.from({ length: count }, () => new Slot(options, onConnectionError))
  let turn = 0
  return {
    query: async (statement) => {
      for (let tried = 0; tried < count; tried++) {
        turn = (turn + 1) % count
        const client = slots[turn]?.client ?? (tried === count - 1 ? await slots[turn]?.opening : undefined)
        if (client) return client.query(statement)
      }
      throw new NoConnectionError('no connection of the read lane is open')
    },
    close: async () => {
      await Promise.all(slots.map((slot) => slot.close()))
    },
  }
}

/** One place for a connection: empty while the server is away. */
class Slot {
  client: pg.Client | undefined
  /** The first attempt, so that requests at start wait for it instead of failing. */
  readonly opening: Promise<pg.Client | undefined>
  readonly #options: pg.ClientConfig
  readonly #onConnectionError: (error: Error) => void
  #retry: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: pg.ClientConfig, onConnectionError: (error: Error) => void) {
    this.#options = options
    this.#onConnectionError = onConnectionError
    this.opening = this.#open()
  }

  async #open(): Promise<pg.Client | undefined> {
    const client = new pg.Client({ ...this.#options, connectionTimeoutMillis: 5_000, pipeline: true })
    client.on('error', (error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client, undefined))
    try {
      await client.connect()
    } catch (error) {
      this.#lost(client, error instanceof Error ? error : new Error(String(error)))
      return undefined
    }
    if (this.#closed) {
      await client.end()
      return undefined
    }
    this.client = client
    return client
  }

  #lost(client: pg.Client, error: Error | undefined): void {
    if (this.#closed) return
    if (error) this.#onConnectionError(error)
    if (this.client !== undefined && this.client !== client) return
    this.client = undefined
    if (this.#retry) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      void this.#open()
    }, RECONNECT_MS)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    await this.client?.end()
    this.client = undefined
  }
}
