import { randomUUID } from 'node:crypto'
import { DeadLetterJob } from '@trestle/jobs/task.ts'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { overEmailRateLimit } from '../errors.ts'
import { toMessageRequest } from '../message-requests/request-message.ts'
import { mailTask, queueMail } from '../messages/mail-job.ts'
import { findMessage } from '../messages/message-repository.ts'
import { answerMessageRequest, sendMail } from './send-messages.ts'

// No server listens on the port of the mail server.
const { deps, clock, close } = await openTestApp({ settings: { AUTH_SMTP_PORT: '1' } })
afterAll(close)

const mail = {
  kind: 'REAUTHENTICATION',
  to: 'ada@example.com',
  messageId: '0b9aa0f6-6b0c-4d0e-a6a3-8e6c2a2f9b11',
  userId: '0b9aa0f6-6b0c-4d0e-a6a3-8e6c2a2f9b12',
  variables: { Token: '123456' },
} as const
const after = (ms: number) => new Date(clock.now().getTime() + ms).toISOString()

it('gives a mail up whose link has expired', async () => {
  await expect(sendMail(deps, { ...mail, expiresAt: after(0) }, 1)).rejects.toEqual(
    new DeadLetterJob('its link has expired'),
  )
})

it.each([
  ['whose link is still valid', 1],
  ['without a link', undefined],
])('tries a mail %s again when the server is away', async (_mail, leftMs) => {
  const expiresAt = leftMs === undefined ? null : after(leftMs)
  await expect(sendMail(deps, { ...mail, expiresAt }, 1)).rejects.toEqual(new Error('SMTP ESOCKET'))
})

describe('what operators see of a mail', () => {
  const statusOfMail = async (changes: object, attempt: number, mailer = deps.mailer) => {
    const job = { ...mail, expiresAt: null, messageId: randomUUID(), ...changes }
    await deps.jobs.open()
    await deps.db.transaction().execute((trx) => queueMail(trx, deps, job))
    await sendMail({ ...deps, mailer }, job, attempt).catch(() => {})
    const { status, attempts, error } = (await findMessage(deps.db, job.messageId)) ?? {}
    return { status, attempts, error }
  }

  it('waits while it is tried again', async () => {
    expect(await statusOfMail({}, 2)).toEqual({ status: 'waiting', attempts: 2, error: 'SMTP ESOCKET' })
  })

  it('has failed after the last attempt', async () => {
    const attempt = mailTask.retryLimit + 1
    expect(await statusOfMail({}, attempt)).toEqual({ status: 'failed', attempts: attempt, error: 'SMTP ESOCKET' })
  })

  it('has failed when its link has expired', async () => {
    const failed = { status: 'failed', attempts: 1, error: 'its link has expired' }
    expect(await statusOfMail({ expiresAt: after(0) }, 1)).toEqual(failed)
  })

  it('has failed where no mail server is set', async () => {
    const failed = { status: 'failed', attempts: 1, error: 'no mail server is set' }
    const open = await openTestApp({ settings: { AUTH_SMTP_HOST: '', AUTH_MAILER_AUTOCONFIRM: 'true' } })
    expect(await statusOfMail({}, 1, open.deps.mailer)).toEqual(failed)
    await open.close()
  })
})

let test: TestApp
// In each test, only one mail may be sent.
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
      // The request has counted the message, like one for a user.
      await email.take(client)
      expect(await answerMessageRequest(deps, askForNobody(test), 1)).toBe('dropped')
    }
    await expect(email.take('a')).rejects.toEqual(refused)
    await email.take('b')
    await expect(email.take('c')).rejects.toEqual(refused)
  })
})
