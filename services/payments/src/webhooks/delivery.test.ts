import { beforeEach, describe, expect, it } from 'vitest'
import {
  type CircuitBreakers,
  claimAttempt,
  createCircuitBreakers,
  createDeliveryTimes,
  deliveryTask,
  recordFailure,
  rememberTime,
  shareSecondsOf,
} from './delivery.ts'
import { takeJobs } from './outbox.ts'

let breakers: CircuitBreakers
beforeEach(() => {
  breakers = createCircuitBreakers()
})

const at = (seconds: number) => new Date(Date.UTC(2026, 2, 1) + seconds * 1_000)
const fail = (times: number, seconds = 0, id = 'a') => {
  for (let time = 0; time < times; time++) recordFailure(breakers, id, at(seconds))
}

describe('claimAttempt', () => {
  it('refuses a webhook that gave no answer three times in a row, and no other', () => {
    fail(2)
    expect(claimAttempt(breakers, 'a', at(0))).toBe(true)
    fail(1)
    expect([claimAttempt(breakers, 'a', at(9.9)), claimAttempt(breakers, 'b', at(0))]).toEqual([false, true])
  })

  it('allows one delivery after the open time, and no others beside it', () => {
    fail(3)
    expect([10, 10, 14.9].map((seconds) => claimAttempt(breakers, 'a', at(seconds)))).toEqual([true, false, false])
    expect(claimAttempt(breakers, 'a', at(15))).toBe(true)
  })

  it.each([
    [4, 20],
    [5, 40],
    [7, 160],
    [8, 300],
    [2_000, 300],
  ])('refuses longer after %i failures, for %i s', (times, seconds) => {
    fail(times)
    expect([claimAttempt(breakers, 'a', at(seconds - 1)), claimAttempt(breakers, 'a', at(seconds))]).toEqual([
      false,
      true,
    ])
  })

  it('allows deliveries again after any answer', () => {
    fail(9)
    breakers.delete('a')
    fail(2, 2)
    expect(claimAttempt(breakers, 'a', at(2))).toBe(true)
  })
})

describe('turnSecondsOf', () => {
  it.each<[number, string, readonly number[]]>([
    [8_192, 'a merchant without a delivery', []],
    [64, 'a first delivery of 5 ms', [5]],
    [64, 'one of 53 ms', [53]],
    [128, 'one of 54 ms', [54]],
    [512, 'one of 350 ms', [350]],
    [8_192, 'one of 4,500 ms', [4_500]],
    [8_192, 'one that takes longer than a webhook may', [6_000]],
    [1_024, 'a slow delivery among ten', [...Array(9).fill(20), 4_800]],
    [512, 'a slow delivery among twenty', [4_800, ...Array(19).fill(20)]],
    [256, 'quick deliveries after a slow one', [...Array(20).fill(20), 4_800, ...Array(10).fill(20)]],
    [64, 'many quick deliveries after slow ones', [4_500, 4_500, ...Array(120).fill(20)]],
  ])('is %i for %s', (shareSeconds, _what, durations) => {
    const times = createDeliveryTimes()
    for (const durationMs of durations) rememberTime(times, 'a', { durationMs, now: at(0) })
    expect([shareSecondsOf(times, 'a'), shareSecondsOf(times, 'b')]).toEqual([shareSeconds, 8_192])
  })
})

describe('rememberTime', () => {
  it.each<[boolean, string, readonly (readonly [durationMs: number, seconds: number])[]]>([
    [true, 'the first delivery', [[20, 0]]],
    [
      false,
      'one as quick',
      [
        [20, 0],
        [20, 29],
      ],
    ],
    [
      true,
      'one as quick after half a minute',
      [
        [20, 0],
        [20, 30],
      ],
    ],
    [
      true,
      'one that makes turns longer',
      [
        [20, 0],
        [900, 1],
      ],
    ],
    [
      false,
      'one that makes shares shorter',
      [
        [900, 0],
        [20, 29],
      ],
    ],
    [
      true,
      'one that makes shares shorter after half a minute',
      [
        [900, 0],
        [20, 30],
      ],
    ],
    [
      false,
      'one that makes shares as long as they were',
      [
        [900, 0],
        [20, 1],
        [900, 2],
      ],
    ],
  ])('says %s after %s', (isDue, _what, deliveries) => {
    const times = createDeliveryTimes()
    const answers = deliveries.map(([durationMs, seconds]) =>
      rememberTime(times, 'a', { durationMs, now: at(seconds) }),
    )
    expect(answers.at(-1)).toBe(isDue)
  })
})

describe('takeJobs', () => {
  it('gives the events of a merchant shares by the time of its deliveries, and leaves other jobs', async () => {
    const times = createDeliveryTimes()
    rememberTime(times, 'slow', { durationMs: 4_500, now: at(0) })
    rememberTime(times, 'quick', { durationMs: 20, now: at(0) })
    const entry = (task: string, group: string) => ({ task, data: {}, group })
    const entries = [
      entry(deliveryTask.name, 'slow'),
      entry(deliveryTask.name, 'quick'),
      entry(deliveryTask.name, 'new'),
      entry('acquirer', 'slow'),
    ]
    const take = takeJobs(async () => ({ rows: 4, entries }), { times, meter: undefined })
    const [slow, quick, unknown, other] = entries
    expect(await take(Object.create(null), 100, [])).toEqual({
      rows: 4,
      entries: [
        { ...slow, shareSeconds: 8_192 },
        { ...quick, shareSeconds: 64 },
        { ...unknown, shareSeconds: 8_192 },
        other,
      ],
    })
  })
})
