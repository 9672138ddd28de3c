import { readFileSync } from 'node:fs'
import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as catalogue from '../../src/errors.ts'
import { createStubAcquirer } from '../stub-acquirer.ts'
import { ruleCases } from './rule-cases.ts'
import { openWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld({ acquirers: new Map([['north', createStubAcquirer()]]) })
})
afterAll(() => world.payments.close())

/** The errors that `endpoint-errors.test.ts` raises at each endpoint, and the factories of errors about fields. */
const RAISED_ELSEWHERE = [
  'conflict',
  'forbidden',
  'immutable',
  'internalError',
  'invalidFields',
  'notFound',
  'payloadTooLarge',
  'rateLimited',
  'registrationClosed',
  'registrationInvited',
  'requestInvalid',
  'serviceUnavailable',
  'unauthorized',
  'unsupportedMediaType',
]

it('tests every error of the catalogue, and no other', () => {
  const names = Object.entries(catalogue).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  expect([...RAISED_ELSEWHERE, ...Object.keys(ruleCases)].sort()).toEqual(names.sort())
})

const reference = readFileSync(new URL('../../../../docs/reference/payments.md', import.meta.url), 'utf8')
const declared = Object.entries(catalogue).flatMap(([name, error]) =>
  'status' in Object(error) ? [[name, error]] : [],
)

it.each(declared as [string, Partial<ErrorFactory>][])(
  '%s stands in the reference',
  (_name, { status, code, message }) => {
    const rows = reference.split('\n').filter((line) => line.startsWith(`| ${status} | \`${code}\` |`))
    // The texts of REQUEST_INVALID and of GET /ready name values. The reference says how they are made.
    expect(rows.filter((row) => code === 'REQUEST_INVALID' || row.includes(message ?? ''))).toHaveLength(1)
  },
)

describe.each(Object.entries(ruleCases))('the refusals of %s', (_name, cases) => {
  it.each(cases)('$status: answers $body', async ({ status, body, code, raise }) => {
    const answer = await raise(world)
    expect([answer.status, answer.body]).toEqual([status, body])
    expect(answer.headers['x-status-code']).toBe(code ?? codeOf(body))
    const retryAfter = status === 503 ? expect.stringMatching(/^[1-9]\d*$/) : undefined
    expect(answer.headers['retry-after']).toEqual(retryAfter)
  })
})

function codeOf(body: unknown): unknown {
  return Array.isArray(body) ? 'REQUEST_INVALID' : Reflect.get(Object(body), 'code')
}
