import { expect, it } from 'vitest'
import { describeOutage } from './describe-outage.ts'

/** The tests run in a checkout. */
const START_IT = 'npm start starts the one of this checkout, and shop doctor checks any other'

const refusedAt = (address: string, port: number) =>
  Object.assign(new Error(`connect ECONNREFUSED ${address}:${port}`), { code: 'ECONNREFUSED', address, port })

it.each([
  [
    'that does not run',
    new AggregateError([refusedAt('::1', 5432), refusedAt('127.0.0.1', 5432)]),
    `PostgreSQL does not answer at [::1]:5432; ${START_IT}`,
  ],
  [
    'that does not run, when a command has noticed it later',
    new Error('no connection is open', { cause: refusedAt('127.0.0.1', 5432) }),
    `PostgreSQL does not answer at 127.0.0.1:5432; ${START_IT}`,
  ],
  [
    'that does not run, by its socket',
    Object.assign(new Error('connect ENOENT'), { code: 'ENOENT', address: '/run/.s.PGSQL.5432' }),
    `PostgreSQL does not answer at /run/.s.PGSQL.5432; ${START_IT}`,
  ],
])('says how to start a PostgreSQL %s', (_case, error, expected) => {
  expect(describeOutage(error, 'shop')).toBe(expected)
})

it.each([
  ['an error of a command', new Error('broken')],
  ['a server that ends the connection', Object.assign(refusedAt('127.0.0.1', 5432), { code: 'ECONNRESET' })],
  ['a missing file', Object.assign(new Error('ENOENT: …'), { code: 'ENOENT', path: 'a.csv' })],
  ['a value that is no error', 'broken'],
])('leaves %s to its own message', (_case, error) => {
  expect(describeOutage(error, 'shop')).toBeUndefined()
})
