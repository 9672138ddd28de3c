import { beforeEach, describe, expect, it } from 'vitest'
import { createSilentWebhooks, isResting, rememberSilence, type SilentWebhooks } from './delivery.ts'

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
