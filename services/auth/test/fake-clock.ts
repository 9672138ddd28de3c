/** A clock that moves only when it is told to. Pass `clock.now` where a service takes `now`. */
export interface FakeClock {
  readonly now: () => Date
  /** Moves the clock by milliseconds. */
  advance(ms: number): void
}

/** Makes a clock that stands still at a time. */
export function createFakeClock(start: string | Date = '2026-01-02T03:04:05.678Z'): FakeClock {
  let time = new Date(start).getTime()
  return {
    now: () => new Date(time),
    advance: (ms) => {
      time += ms
    },
  }
}
