import { serverBusy } from '../errors.ts'

/** A number of things that may be done at a time. */
export class Slots {
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Takes one until it is disposed of. @throws serverBusy when none is left */
  take(): Disposable {
    if (this.#free === 0) throw serverBusy()
    this.#free--
    return {
      [Symbol.dispose]: () => {
        this.#free++
      },
    }
  }
}
