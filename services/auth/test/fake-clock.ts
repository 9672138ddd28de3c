/** A clock that moves only on request. Pass `clock.now` to services. */
export interface FakeClock {
  readonly now: () => Date
  /** Moves the clock forward. */
  advance(ms: number): void
}

/** Creates a clock that is stopped at this time. */
export function createFakeClock(start: string | Date = '2026-01-02T03:04:05.678Z'): FakeClock {
  let time = new Date(start).getTime()
  return {
    now: () => new Date(time),
    advance: (ms) => {
      time += ms
    },
  }
}
