import { describe, expect, it } from 'vitest'
import { parseBanDuration } from './admin-user-request.ts'

describe('parseBanDuration', () => {
  it.each([
    ['none', 0],
    ['0', 0],
    ['+0', 0],
    ['-0', 0],
    ['0s', 0],
    ['-0s', 0],
    ['24h', 86_400_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.s', 1_000],
    ['300ms', 300],
    ['1000us', 1],
    ['1000µs', 1],
    ['1000μs', 1],
    ['1000000ns', 1],
    ['+2s', 2_000],
    ['-1m', -60_000],
    ['2562047h47m16.854775807s', 9_223_372_036_854.775],
  ])('reads the duration %j as %d ms', (text, ms) => {
    expect(parseBanDuration(text)).toBeCloseTo(ms, 2)
  })

  it.each([
    '',
    ' ',
    '24',
    '1.5',
    'never',
    '1d',
    'h',
    '-',
    '+-1h',
    '--1h',
    '1h ',
    ' 1h',
    '1H',
    '1h2',
    'None',
    '2562048h',
  ])('%j is no ban duration', (text) => {
    expect(parseBanDuration(text)).toBeUndefined()
  })
})
