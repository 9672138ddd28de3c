import type { HttpErrorOptions } from '@trestle/common/errors/define-error.ts'
import { serviceUnavailable } from '../errors.ts'

interface GateOptions {
  readonly places: number
  /** How long work waits for its turn. */
  readonly patienceMs: number
  /** What it is told then; serviceUnavailable where absent. */
  readonly refuse?: (options: HttpErrorOptions) => Error
}

interface Waiting {
  readonly admit: () => void
  readonly timer: NodeJS.Timeout
}

/**
 * Lets so many pieces of work run at a time; the others wait for their turn, in their order. It keeps work of one kind, which may
 * wait long for locks, from taking every connection that work of other kinds needs.
 */
export class Gate {
  #free: number
  readonly #patienceMs: number
  readonly #refuse: (options: HttpErrorOptions) => Error
  readonly #waiting = new Set<Waiting>()

  constructor({ places, patienceMs, refuse = serviceUnavailable }: GateOptions) {
    this.#free = places
    this.#patienceMs = patienceMs
    this.#refuse = refuse
  }

  /** @throws HttpError when its turn has not come in time; the work has not begun then */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await this.#turn()
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(waiting)
        reject(this.#refuse({ cause: new Error(`no turn came in ${this.#patienceMs} ms`) }))
      }
      const waiting = { admit: resolve, timer: setTimeout(giveUp, this.#patienceMs) }
      this.#waiting.add(waiting)
    })
  }

  /** The place goes to who has waited longest. */
  #leave(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    clearTimeout(next.timer)
    next.admit()
  }
}
