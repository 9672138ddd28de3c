import { expect, it } from 'vitest'
import { describeEncryption, describeOutage } from './describe-outage.ts'

/** The advice for a checkout, because the tests run in one. */
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

const withCode = (code: string, message: string) => Object.assign(new Error(message), { code })
const selfSigned = withCode('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate')
const NO_VERIFY = 'write sslmode=no-verify into the URL of the database, which encrypts and does not verify the server'
const UNTRUSTED = `PostgreSQL has a certificate that is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): ${NO_VERIFY}, as libpq does at sslmode=require, or name its certificate by sslrootcert=<file>`
const PLAIN = 'pg_hba.conf rejects connection for host "::1", user "a", database "b", no encryption'

it.each([
  ['a certificate that is not trusted', selfSigned, UNTRUSTED],
  ['a certificate, when a command has noticed it later', new Error('no connection', { cause: selfSigned }), UNTRUSTED],
  ['a certificate of the first of several addresses', new AggregateError([selfSigned]), UNTRUSTED],
  [
    'a server that takes encrypted connections alone',
    withCode('28000', PLAIN),
    `${PLAIN}: ${NO_VERIFY}, as libpq does by itself where a server wants encryption`,
  ],
  [
    'a server that encrypts nothing',
    new Error('The server does not support SSL connections'),
    'PostgreSQL does not encrypt connections: leave sslmode out of the URL of the database',
  ],
])('says which sslmode helps with %s', (_case, error, expected) => {
  expect([describeEncryption(error), describeOutage(error, 'shop')]).toEqual([expected, expected])
})

it.each([
  ['a wrong password', withCode('28P01', 'password authentication failed for user "a"')],
  ['a role that may not connect', withCode('28000', 'role "a" is not permitted to log in')],
  ['a value that is no error', 'self-signed certificate'],
])('leaves %s to its own message', (_case, error) => {
  expect(describeEncryption(error)).toBeUndefined()
})
