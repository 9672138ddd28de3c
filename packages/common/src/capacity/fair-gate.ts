import type { HttpError, HttpErrorOptions } from '../errors/define-error.ts'

/** How much work runs at a time, how it is shared among clients, and how long it may wait. */
export interface FairGateOptions {
  /** How much work may run at a time: the sum of the sizes of its pieces. */
  readonly places: number
  /** How much of it one client may have. By default all of it. */
  readonly each?: number
  /** How long a piece of work waits for its turn, in milliseconds. */
  readonly patienceMs: number
  /** Makes the error for a piece of work whose turn did not come in time. */
  readonly refuse: (options: HttpErrorOptions) => HttpError
}

/**
 * The client of a piece of work, and the number of places that it takes. By default all work has one client, and a piece takes
 * one place.
 */
export interface Claim {
  readonly client?: string
  readonly size?: number
  /** Ends the wait when it is aborted. */
  readonly signal?: AbortSignal
}

/** Places that a piece of work has, until they are disposed of. */
export interface Turn extends Disposable {
  /**
   * Counts the places for another client from now on. @returns whether they fit into its share; otherwise nothing changes
   */
  readonly moveTo: (client: string) => boolean
}

interface Waiting {
  readonly size: number
  readonly admit: () => void
}

interface Wait {
  readonly client: string
  readonly waiting: Waiting
  readonly turn: Promise<void>
  readonly signal: AbortSignal | undefined
}

/** The work of one client. */
interface Line {
  taken: number
  readonly waiting: Set<Waiting>
}

/**
 * Bounds how much work of one kind runs at a time. Clients take turns: a client with much work waits behind its own work only.
 * The work of one client keeps its order.
 */
export class FairGate {
  #free: number
  readonly #each: number
  readonly #options: FairGateOptions
  /** Clients that have work here, in the order of their turns. */
  readonly #lines = new Map<string, Line>()

  constructor(options: FairGateOptions) {
    this.#options = options
    this.#free = options.places
    this.#each = options.each ?? options.places
  }

  /**
   * Runs a piece of work in its turn.
   * @throws the error of `refuse` when its turn has not come in time. The work has not begun then
   */
  async run<T>(work: () => Promise<T>, claim?: Claim): Promise<T> {
    using _ = await this.enter(claim)
    return await work()
  }

  /**
   * Takes places until they are disposed of.
   * @throws the error of `refuse` when the turn has not come in time, or the wait is aborted
   */
  async enter({ client = '', size: wanted = 1, signal }: Claim = {}): Promise<Turn> {
    const size = Math.min(wanted, this.#each)
    const line = this.#lines.get(client) ?? { taken: 0, waiting: new Set() }
    this.#lines.set(client, line)
    const turn = Promise.withResolvers<void>()
    const waiting = { size, admit: turn.resolve }
    line.waiting.add(waiting)
    this.#admit()
    if (line.waiting.has(waiting)) await this.#wait({ client, waiting, turn: turn.promise, signal })
    let holder: string | undefined = client
    return {
      moveTo: (other) => {
        if (holder === undefined || !this.#move(size, holder, other)) return false
        holder = other
        return true
      },
      [Symbol.dispose]: () => {
        if (holder !== undefined) this.#leave(holder, size)
        holder = undefined
      },
    }
  }

  async #wait({ client, waiting, turn, signal }: Wait): Promise<void> {
    const { patienceMs, refuse } = this.#options
    const late = Promise.withResolvers<never>()
    const giveUp = () => {
      if (this.#lines.get(client)?.waiting.delete(waiting) !== true) return
      this.#forgetIdle(client)
      // A large piece of work may have held back smaller ones behind it.
      this.#admit()
      late.reject(refuse({ cause: new Error(`the turn has not come in ${patienceMs} ms`) }))
    }
    const timer = setTimeout(giveUp, patienceMs)
    signal?.addEventListener('abort', giveUp)
    await Promise.race([turn, late.promise]).finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    })
  }

  /** Admits work until the next piece has no place. Skips clients that have their share. */
  #admit(): void {
    for (const [client, line] of this.#lines) {
      const [next] = line.waiting
      if (next === undefined || line.taken + next.size > this.#each) continue
      // Free places are kept for this piece. Otherwise smaller ones would overtake it for ever.
      if (next.size > this.#free) return
      line.waiting.delete(next)
      line.taken += next.size
      this.#free -= next.size
      // The loop returns to this client after all others have had their turn.
      this.#putLast(client, line)
      next.admit()
    }
  }

  #move(size: number, from: string, to: string): boolean {
    if (from === to) return true
    const line = this.#lines.get(to) ?? { taken: 0, waiting: new Set() }
    // Work of the client that waits already comes first.
    if (line.waiting.size > 0 || line.taken + size > this.#each) return false
    line.taken += size
    this.#lines.set(to, line)
    // The share of the other client has room again. The places that are free stay the same.
    this.#free -= size
    this.#leave(from, size)
    return true
  }

  #leave(client: string, size: number): void {
    const line = this.#lines.get(client)
    if (line !== undefined) {
      line.taken -= size
      // Clients that arrived during the turn of this one are next.
      this.#putLast(client, line)
    }
    this.#free += size
    this.#forgetIdle(client)
    this.#admit()
  }

  #putLast(client: string, line: Line): void {
    this.#lines.delete(client)
    this.#lines.set(client, line)
  }

  #forgetIdle(client: string): void {
    const line = this.#lines.get(client)
    if (line?.taken === 0 && line.waiting.size === 0) this.#lines.delete(client)
  }
}
