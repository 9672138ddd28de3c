import { randomUUID } from 'node:crypto'
import { DeadJob } from '@trestle/jobs/dead-job.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { mailTask, queueMail } from '../messages/mail-job.ts'
import { findMessage } from '../messages/message-repository.ts'
import { sendMail } from './send-mail.ts'

// Nothing listens on the port of its mail server.
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
  await expect(sendMail(deps, { ...mail, expiresAt: after(0) }, 1)).rejects.toEqual(new DeadJob('its link has expired'))
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
