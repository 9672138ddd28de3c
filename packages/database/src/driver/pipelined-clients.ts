import { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { NoConnectionError } from '../unavailable.ts'
import type { SettingsOptions } from './session-settings.ts'
import { type ParserOf, type Rows, runStatement, type Statement } from './statement-query.ts'

/** A few connections that send statements without waiting for the answers to earlier statements. */
export interface PipelinedClients {
  /** @throws NoConnectionError if no connection is open and the server does not accept one now */
  query(statement: Statement): Promise<Rows>
  /** Opens new connections with other options. Running statements end on the old connections. */
  reopen(client: ClientOptions): void
  close(): Promise<void>
}

export interface PipelineOptions {
  readonly count: number
  /** A connection is closed if an answer is due and the server sends nothing for this time. */
  readonly silenceMs: number
  readonly connectMs: number
  /** How long a statement waits for a connection, because a vanished server neither accepts nor refuses one. */
  readonly acceptMs: number
  readonly parserOf: ParserOf
  readonly onConnectionError: (error: Error) => void
}

type ClientOptions = pg.ClientConfig & Pick<SettingsOptions, 'Client'>

const RECONNECT_MS = 250
const WATCH_MS = 500
/** The largest number of statements that are collected before they are sent. */
const BATCH_STATEMENTS = 4

/**
 * Opens pipelined connections and keeps them open. A lost connection is replaced as soon as the server accepts a new one. `query`
 * uses the connection with the fewest outstanding answers. If several have equally few, it uses the first of them, whose data is
 * most likely still in the processor caches. A statement without a connection starts an attempt to connect, so no statement fails
 * after the server is back. While the server is unavailable, statements are refused immediately.
 */
export function startPipelinedClients(client: ClientOptions, options: PipelineOptions): PipelinedClients {
  const open = (config: ClientOptions) => Array.from({ length: options.count }, () => new Slot(config, options))
  const retired = new Set<Slot>()
  let slots = open(client)
  const findIdlest = (): Slot | undefined => {
    let idlest: Slot | undefined
    for (const slot of slots) {
      if (slot.isOpen && (idlest === undefined || slot.owed < idlest.owed)) idlest = slot
    }
    return idlest
  }
  const queryOnceOpen = async (statement: Statement): Promise<Rows> => {
    const connected = Promise.any(slots.map((slot) => slot.connect()))
    await Promise.race([connected.catch(() => {}), pause(options.acceptMs, undefined, { ref: false })])
    const idlest = findIdlest()
    if (idlest) return idlest.query(statement)
    const cause = slots.find(({ problem }) => problem !== undefined)?.problem
    throw new NoConnectionError('no connection of the read pool is open', { cause })
  }
  const query = (statement: Statement): Promise<Rows> => findIdlest()?.query(statement) ?? queryOnceOpen(statement)
  return {
    query,
    reopen: (config) => {
      const old = slots
      slots = open(config)
      for (const slot of old) {
        retired.add(slot)
        // After `silenceMs`, every statement of the connection is answered, or the connection counts as dead.
        setTimeout(() => retired.delete(slot) && slot.close(), options.silenceMs).unref()
      }
    },
    close: async () => {
      await Promise.all([...slots, ...retired].map((slot) => slot.close()))
    },
  }
}

/** A place for one connection. It is empty while the server is unavailable. */
class Slot {
  /** The error by which the last connection was lost or refused. */
  problem: Error | undefined
  readonly #config: ClientOptions
  readonly #options: PipelineOptions
  readonly #watch: NodeJS.Timeout
  #client: pg.Client | undefined
  /** The running attempt to connect. */
  #attempt: Promise<void> | undefined
  #socket: Socket | undefined
  #retry: NodeJS.Timeout | undefined
  #isClosed = false
  /** The number of collected statements that are not sent yet. */
  #gathered = 0
  /** The number of sent statements without an answer. */
  #owed = 0
  /** The time of the last answer. If no answer was due, the time of the next sent statement. */
  #activeAtMs = 0

  constructor(config: ClientOptions, options: PipelineOptions) {
    this.#config = config
    this.#options = options
    this.#watch = setInterval(() => this.#dropSilent(), WATCH_MS).unref()
    void this.#open()
  }

  get isOpen(): boolean {
    return this.#client !== undefined
  }

  /** Returns the number of sent statements without an answer. */
  get owed(): number {
    return this.#owed
  }

  /** The slot must be open. One timer watches all statements: a timer for each would cost more than sending it. */
  query(statement: Statement): Promise<Rows> {
    if (!this.#client) return Promise.reject(new NoConnectionError('the connection is not open'))
    this.#gather()
    if (this.#owed === 0) this.#activeAtMs = performance.now()
    this.#owed += 1
    const answer = runStatement(this.#client, statement, this.#options.parserOf)
    answer.then(this.#recordAnswer, this.#recordAnswer)
    return answer
  }

  /**
   * Collects the statements of one tick of the event loop and sends them together. A system call for each statement took a fifth
   * of the processor time of a busy reader.
   */
  #gather(): void {
    const socket = this.#socket
    if (!socket) return
    this.#gathered = socket.writableCorked > 0 ? this.#gathered + 1 : 0
    if (this.#gathered >= BATCH_STATEMENTS) socket.uncork()
    if (socket.writableCorked > 0) return
    socket.cork()
    this.#gathered = 0
    setImmediate(() => socket.uncork())
  }

  readonly #recordAnswer = (): void => {
    this.#owed -= 1
    this.#activeAtMs = performance.now()
  }

  #dropSilent(): void {
    if (this.#owed === 0 || performance.now() - this.#activeAtMs < this.#options.silenceMs) return
    this.#socket?.destroy(new NoConnectionError(`the database has been silent for ${this.#options.silenceMs} ms`))
  }

  async #open(): Promise<void> {
    await this.connect().catch((error: unknown) => {
      this.#reportProblem(error instanceof Error ? error : new Error(String(error)))
      this.#reopen()
    })
  }

  /** Connects, or joins the running attempt. @throws Error if the server does not accept the connection */
  connect(): Promise<void> {
    if (this.#client || this.#isClosed) return Promise.resolve()
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  async #connect(): Promise<void> {
    const socket = new Socket()
    const { Client = pg.Client, ...config } = this.#config
    const client = new Client({
      ...config,
      connectionTimeoutMillis: this.#options.connectMs,
      pipeline: true,
      stream: () => socket,
    })
    const reopenLost = () => {
      if (this.#client === client) this.#reopen()
    }
    client.on('error', (error) => {
      this.#reportProblem(error)
      reopenLost()
    })
    client.on('end', reopenLost)
    await client.connect()
    if (this.#isClosed) return client.end()
    this.#socket = socket
    this.#client = client
  }

  #reportProblem(error: Error): void {
    if (this.#isClosed) return
    this.problem = error
    this.#options.onConnectionError(error)
  }

  #reopen(): void {
    this.#client = undefined
    if (this.#isClosed) return
    this.#retry ??= setTimeout(() => {
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
