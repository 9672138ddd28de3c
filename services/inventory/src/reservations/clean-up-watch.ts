/** Knows whether clean-up goes on in this process, for its readiness. The time comes from `performance.now()`. */
export class CleanUpWatch {
  readonly #silentMsMax: number
  #aliveAtMs: number | undefined

  /** @param silentMsMax clean-up that tells nothing for so many milliseconds is stuck */
  constructor(silentMsMax: number) {
    this.#silentMsMax = silentMsMax
  }

  /** Remembers that clean-up has started, ended a run, or had an answer of the database. */
  rememberAlive(): void {
    this.#aliveAtMs = performance.now()
  }

  /** Remembers that clean-up has stopped. */
  rememberEnd(): void {
    this.#aliveAtMs = undefined
  }

  /**
   * For the readiness of the process. A failed run does not count, because the next may succeed.
   * @throws Error when clean-up was not started, has stopped, or is stuck
   */
  check(): void {
    if (this.#aliveAtMs === undefined || performance.now() - this.#aliveAtMs > this.#silentMsMax)
      throw new Error('nothing ends reservations that are due')
  }
}
