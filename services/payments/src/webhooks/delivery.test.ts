import { beforeEach, describe, expect, it } from 'vitest'
import {
  createDeliveryTimes,
  createSilentWebhooks,
  deliveryTask,
  isResting,
  lateMinutesOf,
  rememberSilence,
  rememberTime,
  type SilentWebhooks,
} from './delivery.ts'
import { takeJobs } from './outbox.ts'

let silent: SilentWebhooks
beforeEach(() => {
  silent = createSilentWebhooks()
})

const at = (seconds: number) => new Date(Date.UTC(2026, 2, 1) + seconds * 1_000)
const beSilent = (times: number, seconds = 0, id = 'a') => {
  for (let time = 0; time < times; time++) rememberSilence(silent, id, at(seconds))
}

describe('isResting', () => {
  it('is true for a webhook that was silent three times in a row, and no other', () => {
    beSilent(2)
    expect(isResting(silent, 'a', at(0))).toBe(false)
    beSilent(1)
    expect([isResting(silent, 'a', at(9.9)), isResting(silent, 'b', at(0))]).toEqual([true, false])
  })

  it('is false for one delivery after the rest, and true for others beside it', () => {
    beSilent(3)
    expect([10, 10, 14.9].map((seconds) => isResting(silent, 'a', at(seconds)))).toEqual([false, true, true])
    expect(isResting(silent, 'a', at(15))).toBe(false)
  })

  it.each([
    [4, 20],
    [5, 40],
    [7, 160],
    [8, 300],
    [2_000, 300],
  ])('rests longer after %i silences, for %i s', (times, seconds) => {
    beSilent(times)
    expect([isResting(silent, 'a', at(seconds - 1)), isResting(silent, 'a', at(seconds))]).toEqual([true, false])
  })

  it('is false again after any answer', () => {
    beSilent(9)
    silent.delete('a')
    beSilent(2, 2)
    expect(isResting(silent, 'a', at(2))).toBe(false)
  })
})

describe('lateMinutesOf', () => {
  it.each<[number, string, readonly number[]]>([
    [0, 'a merchant without a delivery', []],
    [0, 'a first delivery of 250 ms', [250]],
    [10, 'a first delivery of 251 ms', [251]],
    [10, '500 ms', [500]],
    [20, '501 ms', [501]],
    [40, '2,000 ms', [2_000]],
    [80, '2,001 ms', [2_001]],
    [0, 'one slow delivery after a quick one', [20, 900]],
    [10, 'two slow deliveries after a quick one', [20, 900, 900]],
    [0, 'quick deliveries after slow ones', [4_500, 4_500, ...Array(12).fill(20)]],
  ])('is %i for %s', (lateMinutes, _what, durations) => {
    const times = createDeliveryTimes()
    for (const durationMs of durations) rememberTime(times, 'a', durationMs)
    expect([lateMinutesOf(times, 'a'), lateMinutesOf(times, 'b')]).toEqual([lateMinutes, 0])
  })
})

describe('takeJobs', () => {
  it('gives late turns to the events of merchants with slow webhooks, and to nothing else', async () => {
    const times = createDeliveryTimes()
    rememberTime(times, 'slow', 4_500)
    rememberTime(times, 'quick', 20)
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
      entries: [{ ...slow, lateMinutes: 80 }, { ...quick, lateMinutes: 0 }, { ...unknown, lateMinutes: 0 }, other],
    })
  })
})
