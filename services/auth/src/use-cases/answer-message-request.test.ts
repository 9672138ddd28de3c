import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { overEmailRateLimit } from '../errors.ts'
import { toMessageRequest } from '../message-requests/request-message.ts'
import { answerMessageRequest } from './answer-message-request.ts'

let test: TestApp
// Each test starts with an allowance of one message.
beforeEach(async () => {
  test = await openTestApp({ settings: { AUTH_RATE_LIMIT_EMAIL_SENT: '1' } })
})
afterEach(() => test.close())

const refused = overEmailRateLimit({ headers: { 'retry-after': expect.stringMatching(/^\d+$/) } })

function askForNobody({ deps }: TestApp) {
  const asked = { audience: 'authenticated', redirectTo: '', linkBase: 'http://localhost:8081', ip: '127.0.0.1' }
  const context = { ...asked, limitKey: undefined }
  const identifier = { kind: 'email', value: 'nobody@example.com' } as const
  return toMessageRequest(deps, { purpose: 'recovery', identifier, context, pkce: undefined })
}

describe('answerMessageRequest', () => {
  it('returns a late message to no later window of the limit', async () => {
    const { deps, clock } = test
    const { email } = deps.rateLimits
    const request = { ...askForNobody(test), askedAt: new Date(clock.now().getTime() - 86_400_000).toISOString() }
    await email.take(undefined)
    expect(await answerMessageRequest(deps, request, 1)).toBe('dropped')
    await expect(email.take(undefined)).rejects.toEqual(refused)
  })

  it('returns a message to the limit once, also when its job runs again', async () => {
    const { deps } = test
    const { email } = deps.rateLimits
    const request = askForNobody(test)
    await email.take(undefined)
    expect(await answerMessageRequest(deps, request, 1)).toBe('dropped')
    expect(await answerMessageRequest(deps, request, 2)).toBe('dropped')
    await email.take(undefined)
    await expect(email.take(undefined)).rejects.toEqual(refused)
  })

  it('returns a message to an unknown address to the limit of all clients, not to the share of its client', async () => {
    const { deps } = test
    const { email } = deps.rateLimits
    for (const client of ['a', 'a', 'b']) {
      // The request has taken the message, as for a user.
      await email.take(client)
      expect(await answerMessageRequest(deps, askForNobody(test), 1)).toBe('dropped')
    }
    await expect(email.take('a')).rejects.toEqual(refused)
    await email.take('b')
    await expect(email.take('c')).rejects.toEqual(refused)
  })
})
