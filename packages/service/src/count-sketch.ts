import { createHmac, randomBytes } from 'node:crypto'

const ROWS = 4
/** Of a row: with four million uses in a period, a key that was never counted reads some 10. */
const CELLS = 2 ** 18
const USES_MAX = 2 ** 16 - 1

/**
 * How often each of any number of keys was used, roughly, in 4 MiB: never less than it was, and rarely more. Of each key one cell
 * in each row counts, and the least of these is read (a count-min sketch: Cormode and Muthukrishnan, 2005). Which cells they are
 * depends on a secret, so nobody can choose keys that count for another one. Uses are kept for one to two periods.
 */
export class CountSketch {
  readonly #secret = randomBytes(32)
  readonly #periodMs: number
  #begunMs: number
  #counts = new Uint16Array(ROWS * CELLS)
  #before = new Uint16Array(ROWS * CELLS)

  constructor(periodMs: number, nowMs: number) {
    this.#periodMs = periodMs
    this.#begunMs = nowMs
  }

  add(key: string, uses: number, nowMs: number): void {
    this.#turn(nowMs)
    for (const cell of this.#cellsOf(key)) {
      this.#counts[cell] = Math.min(USES_MAX, (this.#counts[cell] ?? 0) + uses)
    }
  }

  read(key: string, nowMs: number): number {
    this.#turn(nowMs)
    const cells = this.#cellsOf(key)
    const least = (counts: Uint16Array) => Math.min(...cells.map((cell) => counts[cell] ?? 0))
    return least(this.#counts) + least(this.#before)
  }

  /** Begins a new period where the last one is over. */
  #turn(nowMs: number): void {
    const periods = Math.floor((nowMs - this.#begunMs) / this.#periodMs)
    if (periods === 0) return
    this.#begunMs += periods * this.#periodMs
    const [emptied, kept] = [this.#before, this.#counts]
    this.#before = kept
    this.#counts = emptied.fill(0)
    if (periods > 1) this.#before.fill(0)
  }

  #cellsOf(key: string): number[] {
    const digest = createHmac('sha256', this.#secret).update(key).digest()
    return Array.from({ length: ROWS }, (_, row) => row * CELLS + (digest.readUInt32LE(row * 4) % CELLS))
  }
}
