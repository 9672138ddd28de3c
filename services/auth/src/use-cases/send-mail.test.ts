import { Hopeless } from '@trestle/jobs/hopeless.ts'
import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
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
  await expect(sendMail(deps, { ...mail, expiresAt: after(0) }, 1)).rejects.toEqual(
    new Hopeless('its link has expired'),
  )
})

it.each([
  ['whose link is still valid', 1],
  ['without a link', undefined],
])('tries a mail %s again when the server is away', async (_mail, leftMs) => {
  const expiresAt = leftMs === undefined ? null : after(leftMs)
  await expect(sendMail(deps, { ...mail, expiresAt }, 1)).rejects.toEqual(new Error('SMTP ESOCKET'))
})
