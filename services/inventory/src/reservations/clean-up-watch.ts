/** Tracks whether clean-up works in this process, for its readiness. The time comes from `performance.now()`. */
export class CleanUpWatch {
  readonly #silentMsMax: number
  #aliveAtMs: number | undefined

  /** @param silentMsMax after this many milliseconds without a sign of life, clean-up counts as stuck */
  constructor(silentMsMax: number) {
    this.#silentMsMax = silentMsMax
  }

  /** Records that clean-up has started, ended a run, or got an answer of the database. */
  rememberAlive(): void {
    this.#aliveAtMs = performance.now()
  }

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
