import { Socket } from 'node:net'
import pg from 'pg'
import { type Rows, runStatement, type Statement } from './named-query.ts'
import type { ParserOf } from './row-reader.ts'
import type { SettingsOptions } from './session-settings.ts'
import { NoConnectionError } from './unavailable.ts'

/** A few connections on which statements follow each other without waiting for answers. */
export interface PipelinedClients {
  query(statement: Statement): Promise<Rows>
  close(): Promise<void>
}

export interface PipelineOptions {
  /** How many connections. */
  readonly count: number
  /** A connection that owes answers and has given none for so long, in milliseconds, is dropped. */
  readonly silenceMs: number
  readonly parserOf: ParserOf
  readonly onConnectionError: (error: Error) => void
}

type ClientOptions = pg.ClientConfig & Pick<SettingsOptions, 'Client'>

const RECONNECT_MS = 250
const WATCH_MS = 500
const BATCH = 4

/**
 * Opens pipelined connections and keeps them open: a lost one is replaced as soon as the server takes it.
 * `query` takes the one that owes the fewest answers, and rejects at once with NoConnectionError while none is open. Of two
 * that owe as many it is always the first: its process at the server has what it needs in the caches of the processor.
 */
export function startPipelinedClients(client: ClientOptions, options: PipelineOptions): PipelinedClients {
  const slots = Array.from({ length: options.count }, () => new Slot(client, options))
  const query = (statement: Statement): Promise<Rows> => {
    let idlest: Slot | undefined
    for (const slot of slots) {
      if (slot.isOpen && (idlest === undefined || slot.owed < idlest.owed)) idlest = slot
    }
    if (idlest) return idlest.query(statement)
    const opening = slots.find((slot) => slot.isOpening)
    if (opening) return opening.opened.then(() => query(statement))
    return Promise.reject(new NoConnectionError('no connection of the read lane is open'))
  }
  return {
    query,
    close: async () => {
      await Promise.all(slots.map((slot) => slot.close()))
    },
  }
}

/** One place for a connection: empty while the server is away. */
class Slot {
  /** Settles with the first attempt, so that requests at start wait for it instead of failing. */
  readonly opened: Promise<void>
  /** True during the first attempt. */
  isOpening = true
  readonly #config: ClientOptions
  readonly #options: PipelineOptions
  readonly #watch: NodeJS.Timeout
  #client: pg.Client | undefined
  #socket: Socket | undefined
  #retry: NodeJS.Timeout | undefined
  #isClosed = false
  /** Statements held back. */
  #gathered = 0
  /** Statements sent and not answered. */
  #owed = 0
  /** When the last answer came, or the first of the statements that are owed was sent. */
  #heardAt = 0

  constructor(config: ClientOptions, options: PipelineOptions) {
    this.#config = config
    this.#options = options
    this.#watch = setInterval(() => this.#dropSilent(), WATCH_MS).unref()
    this.opened = this.#open().finally(() => {
      this.isOpening = false
    })
  }

  get isOpen(): boolean {
    return this.#client !== undefined
  }

  /** Statements sent and not answered. */
  get owed(): number {
    return this.#owed
  }

  /** Only while open. One timer watches all statements: one each would cost more than sending them. */
  query(statement: Statement): Promise<Rows> {
    if (!this.#client) return Promise.reject(new NoConnectionError('the connection is not open'))
    this.#gather()
    if (this.#owed === 0) this.#heardAt = performance.now()
    this.#owed += 1
    const answer = runStatement(this.#client, statement, this.#options.parserOf)
    answer.then(this.#settle, this.#settle)
    return answer
  }

  /**
   * Holds the statements of one turn of the event loop back and sends them together: a system call each was a fifth of the
   * processor time of a busy reader.
   */
  #gather(): void {
    const socket = this.#socket
    if (!socket) return
    this.#gathered = socket.writableCorked > 0 ? this.#gathered + 1 : 0
    if (this.#gathered >= BATCH) socket.uncork()
    if (socket.writableCorked > 0) return
    socket.cork()
    this.#gathered = 0
    setImmediate(() => socket.uncork())
  }

  readonly #settle = (): void => {
    this.#owed -= 1
    this.#heardAt = performance.now()
  }

  #dropSilent(): void {
    if (this.#owed === 0 || performance.now() - this.#heardAt < this.#options.silenceMs) return
    this.#socket?.destroy(new NoConnectionError(`the database has been silent for ${this.#options.silenceMs} ms`))
  }

  async #open(): Promise<void> {
    const socket = new Socket()
    const { Client = pg.Client, ...config } = this.#config
    const client = new Client({
      ...config,
      connectionTimeoutMillis: 5_000,
      pipeline: true,
      stream: () => socket,
    })
    client.on('error', (error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client, undefined))
    try {
      await client.connect()
    } catch (error) {
      this.#lost(client, error instanceof Error ? error : new Error(String(error)))
      return
    }
    if (this.#isClosed) return client.end()
    this.#socket = socket
    this.#client = client
  }

  #lost(client: pg.Client, error: Error | undefined): void {
    if (this.#isClosed) return
    if (error) this.#options.onConnectionError(error)
    if (this.#client !== undefined && this.#client !== client) return
    this.#client = undefined
    if (this.#retry) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      void this.#open()
    }, RECONNECT_MS)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    clearInterval(this.#watch)
    await this.#client?.end()
    this.#client = undefined
  }
}
