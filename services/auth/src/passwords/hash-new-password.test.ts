import { createHash } from 'node:crypto'
import type { OutboundRequest } from '@trestle/common/outbound/outbound.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { anyId, errorBody, unconfirmedBody } from '../../test/bodies.ts'
import { createSignedIn } from '../../test/signed-in.ts'

const BREACHED = 'everybody has this one'
const digest = createHash('sha1').update(BREACHED).digest('hex').toUpperCase()

let asked: OutboundRequest[] = []
let answer: { readonly status: number; readonly body: string } | Error

const open = (settings: Readonly<Record<string, string>> = {}): Promise<TestApp> =>
  openTestApp({
    settings: { AUTH_PASSWORD_HIBP_ENABLED: 'true', AUTH_PASSWORD_HIBP_USER_AGENT: 'a test', ...settings },
    replace: ({ outbound }) => ({
      outbound: {
        ...outbound,
        send: async (request) => {
          asked.push(request)
          if (answer instanceof Error) throw answer
          return { ...answer, contentType: 'text/plain' }
        },
      },
    }),
  })

let test: TestApp
let closed: TestApp
beforeAll(async () => {
  ;[test, closed] = await Promise.all([open(), open({ AUTH_PASSWORD_HIBP_FAIL_CLOSED: 'true' })])
})
afterAll(() => Promise.all([test.close(), closed.close()]))
beforeEach(() => {
  asked = []
  answer = { status: 200, body: `${'0'.repeat(35)}:3\r\n${digest.slice(5)}:12\r\n${'F'.repeat(35)}:0\r\n` }
})

let people = 0
const signUp = async (password: string, on = test) => {
  people += 1
  const payload = { email: `breach${people}@example.com`, password }
  const { statusCode, body } = await on.app.inject({ method: 'POST', url: '/signup', payload })
  return { status: statusCode, body: JSON.parse(body) }
}

/** Expects that a sign-up with the breached password creates an unconfirmed user. */
const expectSignUp = async () =>
  expect(await signUp(BREACHED)).toEqual({ status: 200, body: unconfirmedBody(`breach${people}@example.com`) })

describe('AUTH_PASSWORD_HIBP_ENABLED', () => {
  // ASVS 6.2.12
  it('422: refuses a password known from breaches, at a sign-up and as a new password', async () => {
    const refused = {
      code: 422,
      error_code: 'weak_password',
      msg: 'Password is known to be weak and easy to guess, please choose a different one.',
      weak_password: { reasons: ['pwned'] },
    }
    expect(await signUp(BREACHED)).toEqual({ status: 422, body: refused })
    const { headers } = await createSignedIn(test)
    const change = await test.app.inject({ method: 'PUT', url: '/user', headers, payload: { password: BREACHED } })
    expect([change.statusCode, change.json()]).toEqual([422, refused])
  })

  it('200: accepts another password, and sends only five digits of its hash', async () => {
    expect((await signUp('nobody has this one')).status).toBe(200)
    const hash = createHash('sha1').update('nobody has this one').digest('hex').toUpperCase()
    expect(asked).toEqual([
      {
        method: 'GET',
        url: `https://api.pwnedpasswords.com/range/${hash.slice(0, 5)}`,
        headers: { 'user-agent': 'a test', 'add-padding': 'true' },
        timeoutMs: 5_000,
        origin: 'operator',
      },
    ])
  })

  it('200: ignores the padded entries of the list, whose count is 0', async () => {
    answer = { status: 200, body: `${digest.slice(5)}:0\r\n` }
    await expectSignUp()
  })

  const AWAY = [[new Error('away')], [{ status: 503, body: '' }]] as const

  it.each(AWAY)('200: accepts any password while the list is unavailable (%o)', async (away) => {
    answer = away
    await expectSignUp()
  })

  it.each(AWAY)(
    '503: refuses a password while the list is unavailable and the settings fail closed (%o)',
    async (away) => {
      answer = away
      expect(await signUp(BREACHED, closed)).toEqual({
        status: 503,
        body: errorBody(503, 'service_unavailable', 'The service is not available for the moment, please retry', {
          error_id: anyId,
        }),
      })
    },
  )
})
