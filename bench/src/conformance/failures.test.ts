import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { describe, expect, it } from 'vitest'
import { judge, parseAccepted, readAccepted, readReport } from './failures.ts'

removeFoldersAtEnd()

const base64 = (text: string) => ({ $base64: Buffer.from(text).toString('base64') })

/** A schemathesis event: a request, the response, and the failed checks. */
function scenario(phase: string, { method = 'POST', status = 422, body = '', failed = ['some_check'] }) {
  const check = (name: string) => ({
    name,
    status: 'failure',
    failure_info: { failure: { title: 'Wrong', message: `by ${name}\nindeed` } },
  })
  const recorder = {
    cases: { a: { value: { method, path: '/users' } }, b: { value: { method, path: '/users' } } },
    checks: { a: [{ name: 'other_check', status: 'success' }, ...failed.map(check)], b: [] },
    interactions: {
      a: {
        request: {
          method,
          uri: 'http://localhost/users',
          headers: { Host: ['localhost'], Accept: ['*/*'] },
          body: base64('{}'),
        },
        response: { status_code: status, content: base64(body) },
      },
    },
  }
  return JSON.stringify({ ScenarioFinished: { phase, recorder } })
}

it('counts failures with the same operation and check and code once', async () => {
  const file = join(createFolder(), 'report.ndjson')
  const lines = [
    JSON.stringify({ EngineStarted: { id: '1' } }),
    scenario('examples', { failed: [] }),
    scenario('coverage', { body: '{"code":422,"error_code":"email_exists"}' }),
    scenario('fuzzing', { body: '{"code":422,"error_code":"email_exists"}', failed: ['some_check', 'more'] }),
    scenario('fuzzing', { body: '{"code":"UNKNOWN"}', status: 404, method: 'TRACE' }),
    scenario('fuzzing', { body: '{"error":{"type":"CONFLICT"}}', status: 409, method: 'PUT' }),
    scenario('fuzzing', { body: '{"code":"no_grant","error":"unsupported_grant_type"}', method: 'PATCH' }),
    scenario('fuzzing', { body: '{"error":"invalid_grant"}', method: 'PATCH' }),
    scenario('stateful', { body: '<html>', status: 501, failed: [] }),
    scenario('stateful', { body: '[{"field":"a.b","message":"is","code":"TYPE"},{"field":"c","code":"RANGE"}]' }),
  ]
  writeFileSync(file, lines.join('\n'))
  const { failures, summary, withExample } = await readReport(file)
  expect([summary, [...withExample]]).toEqual(['2 examples, 2 coverage, 10 fuzzing, 4 stateful', ['POST /users']])
  expect(failures.map(({ operation, check, code, count }) => [operation, check, code, count])).toEqual([
    ['PATCH /users', 'some_check', '422 no_grant', 1],
    ['PATCH /users', 'some_check', '422 invalid_grant', 1],
    ['POST /users', 'some_check', '422 email_exists', 2],
    ['POST /users', 'more', '422 email_exists', 1],
    ['POST /users', 'some_check', '422 a.b TYPE, c RANGE', 1],
    ['PUT /users', 'some_check', '409 CONFLICT', 1],
    ['TRACE /users', 'some_check', '404 UNKNOWN', 1],
  ])
  expect(failures[2]).toEqual({
    ...{ operation: 'POST /users', check: 'some_check', code: '422 email_exists', count: 2 },
    message: 'Wrong: by some_check\nindeed',
    request: `curl -X POST -H "Accept: */*" -d "{}" "http://localhost/users" → {"code":422,"error_code":"email_exists"}`,
  })
})

const entry = {
  operation: 'POST /signup',
  check: 'positive_data_acceptance',
  code: '422 email_exists',
  reason: 'Whether an email is taken is state that a schema cannot say.',
}
const text = (...entries: readonly object[]) => JSON.stringify(entries)

describe('parseAccepted', () => {
  it.each(['operation', 'check', 'code'])('refuses a wildcard in %s', (member) => {
    expect(() => parseAccepted(text({ ...entry, [member]: 'POST *' }))).toThrow(/"invalid_format"/)
  })

  it('refuses an entry without a reason', () => {
    expect(() => parseAccepted(text({ ...entry, reason: '' }))).toThrow(/"too_small"/)
  })

  it('refuses two entries for the same failure', () => {
    const message = 'POST /signup: positive_data_acceptance, 422 email_exists is accepted twice'
    expect(() => parseAccepted(text(entry, { ...entry, reason: 'Another reason, of the same failure.' }))).toThrow(
      message,
    )
  })

  it('reads an entry of several operations as an entry for each', () => {
    const { operation: _operation, ...rest } = entry
    const operations = ['POST /signup', 'POST /invite']
    expect(parseAccepted(text({ ...rest, operations }))).toEqual(
      operations.map((operation) => ({ operation, ...rest })),
    )
    expect(() => parseAccepted(text({ ...rest, operations: ['POST *', 'POST /signup'] }))).toThrow(/"invalid_format"/)
  })

  it.each(['auth', 'inventory', 'payments'])('reads what is accepted for %s', (service) => {
    expect(Array.isArray(readAccepted(service))).toBe(true)
  })
})

it('accepts a failure by operation and check and code together', () => {
  const failure = { ...entry, message: '', request: '', count: 1 }
  const others = [
    { ...failure, operation: 'POST /otp' },
    { ...failure, check: 'unsupported_method' },
    { ...failure, code: '422' },
  ]
  expect(judge([failure, ...others], [entry])).toEqual({ unexpected: others, expected: [entry] })
})
