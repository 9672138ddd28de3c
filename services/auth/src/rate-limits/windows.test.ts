import { describe, expect, it } from 'vitest'
import { retryAfterSeconds, toWindow } from './windows.ts'

describe('toWindow', () => {
  it.each([
    [30, 300, 30, { points: 30, durationSeconds: 300 }],
    [150, 300, 30, { points: 30, durationSeconds: 60 }],
    [15, 60, 30, { points: 30, durationSeconds: 120 }],
    [30, 3600, 30, { points: 30, durationSeconds: 3600 }],
    [1, 300, 30, { points: 30, durationSeconds: 9_000 }],
    [7, 300, 30, { points: 30, durationSeconds: 1_286 }],
    [7_000, 300, 30, { points: 23, durationSeconds: 1 }],
    [1_000_000, 300, 30, { points: 3_333, durationSeconds: 1 }],
    [0.5, 3_600, 1, { points: 1, durationSeconds: 7_200 }],
    [30, 0.3, 30, { points: 100, durationSeconds: 1 }],
    ['off', 300, 30, undefined],
  ] as const)('counts %s per %s s with a burst of %s as %j', (value, period, burst, window) => {
    expect(toWindow(value, period, burst)).toEqual(window)
  })
})

describe('retryAfterSeconds', () => {
  it.each([
    [0, 1],
    [1, 1],
    [1_000, 1],
    [1_001, 2],
  ])('tells a client with %d ms to wait to try again after %d s', (ms, seconds) => {
    expect(retryAfterSeconds(ms)).toBe(seconds)
  })
})
