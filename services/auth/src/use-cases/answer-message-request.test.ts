import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { answerMessageRequest } from './answer-message-request.ts'
import { toMessageRequest } from './request-message.ts'

const { deps, close } = await openTestApp({ settings: { AUTH_RATE_LIMIT_EMAIL_SENT: '1' } })
afterAll(close)

const { email } = deps.rateLimits

function askForNobody() {
  const context = { audience: 'authenticated', redirectTo: '', linkBase: 'http://localhost:8081', ip: '127.0.0.1' }
  const identifier = { kind: 'email', value: 'nobody@example.com' } as const
  return toMessageRequest(deps, { purpose: 'recovery', identifier, context, pkce: undefined })
}

describe('answerMessageRequest', () => {
  it('gives the message to nobody back once, also when its job is done again', async () => {
    const request = askForNobody()
    await email.take()
    expect(await answerMessageRequest(deps, request, 1)).toBe('dropped')
    expect(await answerMessageRequest(deps, request, 2)).toBe('dropped')
    await email.take()
    await expect(email.take()).rejects.toMatchObject({ status: 429 })
  })
})
