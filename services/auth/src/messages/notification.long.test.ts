import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openMailApp } from '../../test/mail-app.ts'
import { NOTIFICATIONS } from '../config/mail.ts'
import { type Notification, notify } from './mail-job.ts'

const switches = Object.fromEntries(NOTIFICATIONS.map((name) => [`AUTH_MAILER_NOTIFICATIONS_${name}_ENABLED`, 'true']))
const app = await openMailApp({
  ...switches,
  AUTH_MAILER_SUBJECTS_PASSWORD_CHANGED_NOTIFICATION: '{{ .Data.name }} at {{ .SiteURL }}',
  AUTH_RATE_LIMIT_EMAIL_SENT: '0',
})
const silent = await openMailApp({ AUTH_PROFILE: 'supabase' })
afterAll(() => Promise.all([app.close(), silent.close()]))

const user = { id: '0b9aa0f6-6b0c-4d0e-a6a3-8e6c2a2f9b11', email: 'ada@example.com', userMetadata: { name: 'Ada' } }
const phones = { Phone: '14155550100', OldPhone: '14155550101' }
const cases: readonly (readonly [Notification, to: string, text: string])[] = [
  [
    { name: 'PASSWORD_CHANGED', variables: {} },
    'ada@example.com',
    'The password of your account ada@example.com was changed.',
  ],
  [
    { name: 'EMAIL_CHANGED', variables: { OldEmail: 'old@example.com' } },
    'old@example.com',
    'The email address of your account was changed from old@example.com to ada@example.com.',
  ],
  [
    { name: 'PHONE_CHANGED', variables: phones },
    'ada@example.com',
    'The phone number of your account ada@example.com was changed from 14155550101 to 14155550100.',
  ],
  [
    { name: 'PHONE_CHANGED', variables: { ...phones, OldPhone: null } },
    'ada@example.com',
    'The phone number of your account ada@example.com was changed to 14155550100.',
  ],
  [
    { name: 'IDENTITY_LINKED', variables: { Provider: 'github' } },
    'ada@example.com',
    'github was linked to your account ada@example.com.',
  ],
  [
    { name: 'IDENTITY_UNLINKED', variables: { Provider: 'github' } },
    'ada@example.com',
    'github was removed from your account ada@example.com.',
  ],
  [
    { name: 'MFA_FACTOR_ENROLLED', variables: { FactorType: 'totp' } },
    'ada@example.com',
    'A verification method (totp) was added to your account ada@example.com.',
  ],
  [
    { name: 'MFA_FACTOR_UNENROLLED', variables: { FactorType: 'totp' } },
    'ada@example.com',
    'A verification method (totp) was removed from your account ada@example.com.',
  ],
  [{ name: 'PASSKEY_ADDED', variables: {} }, 'ada@example.com', 'A passkey was added to your account ada@example.com.'],
  [
    { name: 'PASSKEY_REMOVED', variables: {} },
    'ada@example.com',
    'A passkey was removed from your account ada@example.com.',
  ],
  [
    { name: 'PASSKEYS_KEPT', variables: { Passkeys: '2026-01-02 03:04 UTC' } },
    'ada@example.com',
    'Your account ada@example.com was recovered by a mail. Passkeys that were added in the last 30 days are still there: 2026-01-02 03:04 UTC. Remove those that you do not know.',
  ],
  [
    { name: 'RECOVERY_CODES_CREATED', variables: {} },
    'ada@example.com',
    'New recovery codes were made for your account ada@example.com.',
  ],
  [
    { name: 'ACCOUNT_SECURED', variables: { Since: '2026-01-02 03:04 UTC' } },
    'ada@example.com',
    'Sessions, passkeys and verification methods of your account ada@example.com that were made since 2026-01-02 03:04 UTC were removed.',
  ],
]

async function countQueued({ deps }: typeof app): Promise<number> {
  const query = sql<{ n: number }>`SELECT count(*)::int AS n FROM auth_jobs.job WHERE name = 'mail'`
  return (await query.execute(deps.db)).rows[0]?.n ?? 0
}

describe('notify', () => {
  it.each(cases)('tells the user of %j', async (notification, to, text) => {
    await notify(app.deps.db, app.deps, user, notification)
    const { mail } = await app.readMail(to)
    expect(mail.text?.trim()).toBe(`${text}\nIf this was not you, contact support at once.`)
    if (notification.name === 'PASSWORD_CHANGED') expect(mail.subject).toBe('Ada at http://localhost:3000')
  })

  it('sends nothing while the setting is off or the user has no address', async () => {
    const before = await countQueued(app)
    for (const [notification] of cases) await notify(silent.deps.db, silent.deps, user, notification)
    await notify(app.deps.db, app.deps, { ...user, email: null }, { name: 'PASSWORD_CHANGED', variables: {} })
    expect(await countQueued(silent)).toBe(0)
    expect(await countQueued(app)).toBe(before)
  })
})
