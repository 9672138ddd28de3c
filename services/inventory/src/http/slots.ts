import { serverBusy } from '../errors.ts'

/** Bounds how many pieces of work are open at a time, in all and of one client (reference: Turns). */
export class Slots {
  #free: number
  readonly #each: number
  readonly #taken = new Map<string, number>()

  constructor({ all, each }: { readonly all: number; readonly each: number }) {
    this.#free = all
    this.#each = each
  }

  /** Takes one for a client until it is disposed of. @throws serverBusy when none is left, or the client has its part */
  take(client: string): Disposable {
    const taken = this.#taken.get(client) ?? 0
    if (this.#free === 0 || taken === this.#each) throw serverBusy()
    this.#free--
    this.#taken.set(client, taken + 1)
    return {
      [Symbol.dispose]: () => {
        this.#free++
        const left = (this.#taken.get(client) ?? 1) - 1
        if (left > 0) this.#taken.set(client, left)
        else this.#taken.delete(client)
      },
    }
  }
}
