import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { answerMessageRequest } from './message-request-job.ts'
import { toMessageRequest } from './request-message.ts'

const { deps, clock, close } = await openTestApp({ settings: { AUTH_RATE_LIMIT_EMAIL_SENT: '1' } })
afterAll(close)

const { email } = deps.rateLimits

function askForNobody() {
  const asked = { audience: 'authenticated', redirectTo: '', linkBase: 'http://localhost:8081', ip: '127.0.0.1' }
  const context = { ...asked, limitKey: undefined }
  const identifier = { kind: 'email', value: 'nobody@example.com' } as const
  return toMessageRequest(deps, { purpose: 'recovery', identifier, context, pkce: undefined })
}

describe('answerMessageRequest', () => {
  it('returns a late message to the limit once, also when its job runs again', async () => {
    const request = { ...askForNobody(), askedAt: new Date(clock.now().getTime() - 86_400_000).toISOString() }
    await email.take(undefined)
    expect(await answerMessageRequest(deps, request, 1)).toBe('dropped')
    expect(await answerMessageRequest(deps, request, 2)).toBe('dropped')
    await email.take(undefined)
    await expect(email.take(undefined)).rejects.toMatchObject({ status: 429 })
  })

  it('counts a message to an unknown address like one to a user', async () => {
    expect(await answerMessageRequest(deps, askForNobody(), 1)).toBe('dropped')
    await expect(email.take(undefined)).rejects.toMatchObject({ status: 429 })
  })
})
