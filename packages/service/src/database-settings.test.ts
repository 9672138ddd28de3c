import type { Setting } from '@trestle/common/config/setting.ts'
import { expect, it } from 'vitest'
import { databaseUrl, standbySettings, toConnectTimeoutMs } from './database-settings.ts'

const { DB_READ_LAG_MAX } = standbySettings

it.each<[string, Setting, unknown]>([
  ['postgres://a:b@c/d', databaseUrl(), 'postgres://a:b@c/d'],
  ['postgresql://a@b/c', databaseUrl(), 'postgresql://a@b/c'],
  ['2s', DB_READ_LAG_MAX, 2_000],
])('reads the text $0 as the value $2', (value, setting, read) => {
  expect(setting.parse(value)).toBe(read)
})

it.each<[string, Setting, string]>([
  ['mysql://a', databaseUrl(), 'must be a postgres:// connection string, with %20 for a blank and %25 for a %'],
  [
    'postgres://a:b c@h/d',
    databaseUrl(),
    'must be a postgres:// connection string, with %20 for a blank and %25 for a %',
  ],
  [
    'postgres://a:100%@h/d',
    databaseUrl(),
    'must be a postgres:// connection string, with %20 for a blank and %25 for a %',
  ],
  ['postgres://a:b@:c', databaseUrl(), 'must be a postgres:// connection string, with %20 for a blank and %25 for a %'],
  ['1999ms', DB_READ_LAG_MAX, 'must be a duration of at least 2s'],
])('refuses %j and says what it must be', (value, setting, message) => {
  expect(setting.safeParse(value).error?.issues.map((issue) => issue.message)).toEqual([message])
})

it.each([
  [0, Number.POSITIVE_INFINITY],
  [1, 1_000],
  [30, 30_000],
])('a start waits with PGCONNECT_TIMEOUT=%j for %j ms', (seconds, ms) => {
  expect(toConnectTimeoutMs(seconds)).toBe(ms)
})
