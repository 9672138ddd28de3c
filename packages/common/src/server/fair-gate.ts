import type { HttpError, HttpErrorOptions } from '../errors/define-error.ts'

export interface FairGateOptions {
  /** How much work may run at a time: the sum of the sizes of its pieces. */
  readonly places: number
  /** How much of that one client may take. By default all of it. */
  readonly each?: number
  /** How long a piece of work waits for its turn, in milliseconds. */
  readonly patienceMs: number
  /** Makes the error for a piece of work whose turn did not come in time. */
  readonly refuse: (options: HttpErrorOptions) => HttpError
}

/** Whose work it is, and how many places it takes. By default everybody is one client, and each piece takes one place. */
export interface Claim {
  readonly client?: string
  readonly size?: number
  /** Gives the wait up when it is aborted. */
  readonly signal?: AbortSignal
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
 * Bounds how much work of one kind runs at a time. Clients take turns: a client that asks for much waits behind its own work,
 * and nobody else does. The work of one client keeps its order.
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

  /** Runs a piece of work in its turn. @throws the error of `refuse` when the turn has not come in time: nothing has begun then */
  async run<T>(work: () => Promise<T>, claim?: Claim): Promise<T> {
    using _ = await this.enter(claim)
    return await work()
  }

  /** Takes places until they are disposed of. @throws the error of `refuse` when the turn has not come in time, or is given up */
  async enter({ client = '', size: wanted = 1, signal }: Claim = {}): Promise<Disposable> {
    const size = Math.min(wanted, this.#each)
    const line = this.#lines.get(client) ?? { taken: 0, waiting: new Set() }
    this.#lines.set(client, line)
    const turn = Promise.withResolvers<void>()
    const waiting = { size, admit: turn.resolve }
    line.waiting.add(waiting)
    this.#admit()
    if (line.waiting.has(waiting)) await this.#wait({ client, waiting, turn: turn.promise, signal })
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#leave(client, size)
        isHeld = false
      },
    }
  }

  async #wait({ client, waiting, turn, signal }: Wait): Promise<void> {
    const { patienceMs, refuse } = this.#options
    const late = Promise.withResolvers<never>()
    const giveUp = () => {
      if (this.#lines.get(client)?.waiting.delete(waiting) !== true) return
      this.#forgetIdle(client)
      // A large piece of work may have kept smaller ones behind it waiting.
      this.#admit()
      late.reject(refuse({ cause: new Error(`no turn came in ${patienceMs} ms`) }))
    }
    const timer = setTimeout(giveUp, patienceMs)
    signal?.addEventListener('abort', giveUp)
    await Promise.race([turn, late.promise]).finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    })
  }

  /** Admits work until the next piece has no place. A client that has all it may have is passed over. */
  #admit(): void {
    for (const [client, line] of this.#lines) {
      const [next] = line.waiting
      if (next === undefined || line.taken + next.size > this.#each) continue
      // The places that get free are kept for this piece, or smaller ones would overtake it for ever.
      if (next.size > this.#free) return
      line.waiting.delete(next)
      line.taken += next.size
      this.#free -= next.size
      // The loop comes back to the client when all others have had their turn.
      this.#putLast(client, line)
      next.admit()
    }
  }

  #leave(client: string, size: number): void {
    const line = this.#lines.get(client)
    if (line !== undefined) {
      line.taken -= size
      // Clients that came while this one had its turn are next.
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
