import { beforeEach, describe, expect, it } from 'vitest'
import { createSilentTargets, type SilentTargets } from './silent-targets.ts'

let targets: SilentTargets
beforeEach(() => {
  targets = createSilentTargets()
})

const at = (seconds: number) => new Date(Date.UTC(2026, 2, 1) + seconds * 1_000)
const beSilent = (times: number, seconds = 0, id = 'a') => {
  for (let time = 0; time < times; time++) targets.note(id, false, at(seconds))
}

describe('createSilentTargets', () => {
  it('lets a target be that was silent three times in a row, and no other', () => {
    beSilent(2)
    expect(targets.isResting('a', at(0))).toBe(false)
    beSilent(1)
    expect([targets.isResting('a', at(9.9)), targets.isResting('b', at(0))]).toEqual([true, false])
  })

  it('lets one delivery through after the rest, and none beside it', () => {
    beSilent(3)
    expect([10, 10, 14.9].map((seconds) => targets.isResting('a', at(seconds)))).toEqual([false, true, true])
    expect(targets.isResting('a', at(15))).toBe(false)
  })

  it.each([
    [4, 20],
    [5, 40],
    [7, 160],
    [8, 300],
    [2_000, 300],
  ])('rests longer after %i silences, for %i s', (times, seconds) => {
    beSilent(times)
    expect([targets.isResting('a', at(seconds - 1)), targets.isResting('a', at(seconds))]).toEqual([true, false])
  })

  it('forgets with any answer', () => {
    beSilent(9)
    targets.note('a', true, at(1))
    beSilent(2, 2)
    expect(targets.isResting('a', at(2))).toBe(false)
  })
})
