import { randomUUID } from 'node:crypto'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import type { StubAnswer } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { anyId } from '../../test/bodies.ts'
import { NOTHING, startHookStub } from '../../test/hook-stub.ts'
import { loadAuthConfig } from '../config.ts'
import {
  hookAnswerNoJson,
  hookAnswerTooLong,
  hookFailed,
  hookRejected,
  hookTimeout,
  hookTimeoutAfterRetry,
} from '../external-errors.ts'
import { createHooks } from './hooks.ts'

const stub = await startHookStub()
afterAll(() => stub.close())
beforeEach(() => {
  stub.answer = () => NOTHING
})

const config = loadAuthConfig({
  AUTH_SITE_URL: 'http://localhost:3000',
  AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
  AUTH_DB_DRIVER: 'postgres',
  AUTH_DATABASE_URL: 'postgres://localhost/auth',
  AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
  AUTH_MAILER_AUTOCONFIRM: 'true',
  ...stub.settings('PASSWORD_VERIFICATION_ATTEMPT'),
})
const { logger } = createLogger({ level: 'panic', stdout: false })
const hooks = createHooks(config.hooks, {
  outbound: createOutbound([]),
  now: () => new Date(),
  logger,
  compatibility: config.compatibility,
})
const payload = { user_id: randomUUID(), valid: true }
const call = () => hooks.call('PASSWORD_VERIFICATION_ATTEMPT', payload)
/** Gives these answers in order, and repeats the last one. */
const answerWith = (...answers: readonly (StubAnswer | undefined)[]) => {
  let count = 0
  stub.answer = () => answers[Math.min(count++, answers.length - 1)]
}

describe('createHooks', () => {
  it('sends a signed message and returns the answer', async () => {
    answerWith({ body: { so: 'be it' } })
    expect(await call()).toEqual({ so: 'be it' })
    expect(stub.calls.at(-1)).toEqual({ name: 'PASSWORD_VERIFICATION_ATTEMPT', id: anyId, payload })
    expect([hooks.isOn('PASSWORD_VERIFICATION_ATTEMPT'), hooks.isOn('CUSTOM_ACCESS_TOKEN')]).toEqual([true, false])
  })

  it.each([200, 201, 202, 204])('returns nothing for an answer with %d', async (status) => {
    answerWith({ status, body: '' })
    expect(await call()).toEqual({})
  })

  it('tries three times under one id', async () => {
    const before = stub.calls.length
    answerWith({ status: 503, body: '' }, { status: 429, body: '' }, { body: { at: 'last' } })
    expect(await call()).toEqual({ at: 'last' })
    const ids = stub.calls.slice(before).map(({ id }) => id)
    expect([ids.length, new Set(ids).size]).toEqual([3, 1])
  })

  const long = { body: { text: 'x'.repeat(204_800) } }
  it.each<[string, readonly (StubAnswer | undefined)[], HttpError]>([
    ['does not work three times', [{ status: 503, body: '' }], hookTimeoutAfterRetry()],
    ['answers too much', [long], hookAnswerTooLong()],
    [
      'answers something else than JSON',
      [{ headers: { 'content-type': 'text/html' }, body: '{}' }],
      hookAnswerNoJson(),
    ],
    ['answers no JSON under that name', [{ body: '{' }], hookFailed()],
    ['answers bytes that are not UTF-8', [{ body: Buffer.from('{"a":"\xe9"}', 'latin1') }], hookFailed()],
    ['answers no object', [{ body: [1] }], hookFailed()],
    ['fails', [{ status: 500, body: '' }], hookFailed()],
    ['sends elsewhere', [{ status: 302, headers: { location: '/' }, body: '' }], hookFailed()],
    [
      'refuses',
      [{ body: { error: { http_code: 418, message: 'I am a teapot' } } }],
      hookRejected({ status: 418, message: 'I am a teapot' }),
    ],
    [
      'refuses by its own status too',
      [{ status: 400, body: { error: { http_code: 403, message: 'No' } } }],
      hookRejected({ status: 403, message: 'No' }),
    ],
    [
      'wants patience',
      [{ body: { error: { http_code: 429, message: 'Later' } } }],
      new HttpError(429, 'hook_rejected', { message: 'Later', headers: { 'retry-after': '60' } }),
    ],
    ['fails in words of its own', [{ body: { error: { http_code: 500, message: 'secret detail' } } }], hookFailed()],
  ])('refuses when the hook %s', async (_, answers, error) => {
    answerWith(...answers)
    await expect(call()).rejects.toEqual(error)
  })

  it('gives up after five seconds without an answer', async () => {
    answerWith(undefined)
    await expect(call()).rejects.toEqual(hookTimeout())
  }, 10_000)
})
