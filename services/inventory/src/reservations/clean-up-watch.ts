/** Tracks whether clean-up works in this process, for its readiness. Uses `performance.now()`. */
export class CleanUpWatch {
  readonly #silentMsMax: number
  #aliveAtMs: number | undefined

  /** @param silentMsMax after this time in milliseconds without a sign of activity, clean-up counts as stuck */
  constructor(silentMsMax: number) {
    this.#silentMsMax = silentMsMax
  }

  /** Records that clean-up has started, ended a run, or received an answer from the database. */
  rememberAlive(): void {
    this.#aliveAtMs = performance.now()
  }

  rememberEnd(): void {
    this.#aliveAtMs = undefined
  }

  /**
   * Checks clean-up for the readiness of the process. A failed run does not count, because the next may succeed.
   * @throws Error if clean-up was not started, has stopped, or is stuck
   */
  check(): void {
    if (this.#aliveAtMs === undefined || performance.now() - this.#aliveAtMs > this.#silentMsMax)
      throw new Error('nothing ends reservations that are due')
  }
}
