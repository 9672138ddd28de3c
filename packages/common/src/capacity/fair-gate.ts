import type { HttpError, HttpErrorOptions } from '../errors/define-error.ts'

export interface FairGateOptions {
  /** The concurrency limit: the maximum sum of the sizes of all running tasks. */
  readonly slots: number
  readonly each?: number
  readonly patienceMs: number
  /** Creates the error for a task that got no slot in time. */
  readonly refuse: (options: HttpErrorOptions) => HttpError
}

/**
 * The client of a task, and the number of slots that the task takes. By default all tasks have the same client, and a task takes
 * one slot.
 */
export interface Claim {
  readonly client?: string
  readonly size?: number
  readonly signal?: AbortSignal
}

/** The slots of a task. Disposing of them frees them. */
export interface HeldSlots extends Disposable {
  /** Counts the slots for another client from now on. Returns `false` and changes nothing if they exceed its share. */
  readonly moveTo: (client: string) => boolean
}

interface Waiting {
  readonly size: number
  readonly admit: () => void
}

interface Wait {
  readonly client: string
  readonly waiting: Waiting
  readonly admitted: Promise<void>
  readonly signal: AbortSignal | undefined
}

interface Line {
  taken: number
  readonly waiting: Set<Waiting>
}

/**
 * Limits the concurrency of one kind of task. Clients are served round-robin, so many tasks of one client delay only that client.
 * The tasks of one client start in their order.
 */
export class FairGate {
  #free: number
  readonly #each: number
  readonly #options: FairGateOptions
  /** Clients with tasks, in round-robin order. */
  readonly #lines = new Map<string, Line>()

  constructor(options: FairGateOptions) {
    this.#options = options
    this.#free = options.slots
    this.#each = options.each ?? options.slots
  }

  /**
   * Runs a task when its slots are free.
   * @throws the error of `refuse` if no slot was free in time. The task has not started then.
   */
  async run<T>(work: () => Promise<T>, claim?: Claim): Promise<T> {
    using _ = await this.enter(claim)
    return await work()
  }

  /**
   * Takes slots until they are disposed of.
   * @throws the error of `refuse` if no slot was free in time, or if the wait was aborted
   */
  async enter({ client = '', size: wanted = 1, signal }: Claim = {}): Promise<HeldSlots> {
    const size = Math.min(wanted, this.#each)
    const line = this.#lines.get(client) ?? { taken: 0, waiting: new Set() }
    this.#lines.set(client, line)
    const admitted = Promise.withResolvers<void>()
    const waiting = { size, admit: admitted.resolve }
    line.waiting.add(waiting)
    this.#admit()
    if (line.waiting.has(waiting)) await this.#wait({ client, waiting, admitted: admitted.promise, signal })
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

  async #wait({ client, waiting, admitted, signal }: Wait): Promise<void> {
    const { patienceMs, refuse } = this.#options
    const late = Promise.withResolvers<never>()
    const giveUp = () => {
      if (this.#lines.get(client)?.waiting.delete(waiting) !== true) return
      this.#forgetIdle(client)
      // Smaller tasks may have waited behind this large task. Admit them now.
      this.#admit()
      late.reject(refuse({ cause: new Error(`no slot became free in ${patienceMs} ms`) }))
    }
    const timer = setTimeout(giveUp, patienceMs)
    signal?.addEventListener('abort', giveUp)
    await Promise.race([admitted, late.promise]).finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    })
  }

  /** Admits tasks until too few slots are free for the next task. Skips clients that have used their share. */
  #admit(): void {
    for (const [client, line] of this.#lines) {
      const [next] = line.waiting
      if (next === undefined || line.taken + next.size > this.#each) continue
      // Keep the free slots for this task. Otherwise smaller tasks could overtake it indefinitely.
      if (next.size > this.#free) return
      line.waiting.delete(next)
      line.taken += next.size
      this.#free -= next.size
      // Move this client to the end of the order, so that the loop continues with all other clients first.
      this.#putLast(client, line)
      next.admit()
    }
  }

  #move(size: number, from: string, to: string): boolean {
    if (from === to) return true
    const line = this.#lines.get(to) ?? { taken: 0, waiting: new Set() }
    // Tasks of the other client that already wait have priority.
    if (line.waiting.size > 0 || line.taken + size > this.#each) return false
    line.taken += size
    this.#lines.set(to, line)
    // `#leave` frees the slots of the first client. Subtract them before, because the total number of free slots must not change.
    this.#free -= size
    this.#leave(from, size)
    return true
  }

  #leave(client: string, size: number): void {
    const line = this.#lines.get(client)
    if (line !== undefined) {
      line.taken -= size
      // Clients that arrived in the meantime come next.
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
