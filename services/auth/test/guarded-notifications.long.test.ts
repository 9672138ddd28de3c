import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApp } from './authenticator-app.ts'
import { outcomeOf, statusAndBody } from './bodies.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { paths } from './passkey-app.ts'
import { RECOVERY_CODES } from './recovery-codes-app.ts'
import { createSignedIn, type SignedIn } from './signed-in.ts'

const DAY_MS = 86_400_000
const SETTINGS = {
  AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_ENROLLED_ENABLED: 'false',
  AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
  AUTH_PASSKEY_ENABLED: 'true',
  AUTH_WEBAUTHN_RP_ID: 'app.example.com',
  AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
  AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com',
}
const ALL = [
  'A passkey was added to your account',
  'A passkey was removed from your account',
  'New recovery codes were made for your account',
  'New recovery codes were made for your account',
]

/** Registers a passkey. @returns its id and creation time */
async function register(service: MailApp, { headers }: Pick<SignedIn, 'headers'>): Promise<[id: string, at: string]> {
  const { challenge_id, options } = (await service.post(paths.start, {}, headers)).json()
  const payload = { challenge_id, credential: createAuthenticator().create(options) }
  const answer = await service.post(paths.finish, payload, headers)
  expect(outcomeOf(answer)).toBe(200)
  return [answer.json().id, answer.json().created_at]
}

/** Signs in with the code of a recovery mail, with this verification type. */
async function recover(service: MailApp, email: string, type = 'recovery'): Promise<void> {
  await service.post('/recover', { email })
  const { code } = await service.readMail(email)
  expect(outcomeOf(await service.post('/verify', { type, email, token: code }))).toBe(200)
}

describe.each([
  ['compatible', true],
  ['strict', true],
  ['supabase', false],
])('changes of how a user signs in, AUTH_PROFILE=%s', (profile, isNotified) => {
  let service: MailApp
  beforeAll(async () => {
    service = await openMailApp({ ...SETTINGS, AUTH_PROFILE: profile })
  })
  afterAll(() => service.close())

  /** Returns the subjects of all mails to an address, after all work is done. */
  const subjectsTo = async (email: string): Promise<readonly (string | undefined)[]> => {
    await service.idle()
    const count = service.recipients().filter((to) => to === email).length
    const mails = await Promise.all(Array.from({ length: count }, () => service.readMail(email)))
    return mails.map(({ mail }) => mail.subject).toSorted()
  }

  it(`${isNotified ? 'are mailed to the user' : 'send no mail'} unless a setting says otherwise`, async () => {
    const { email, headers } = await createSignedIn(service)
    const url = `/passkeys/${(await register(service, { headers }))[0]}`
    expect(statusAndBody(await service.app.inject({ method: 'DELETE', url, headers }))).toEqual([204, ''])
    const steppedUp = await addApp(service, headers)
    expect(outcomeOf(await service.post(RECOVERY_CODES, {}, steppedUp.headers))).toBe(200)
    expect(outcomeOf(await service.post(`${RECOVERY_CODES}/regenerate`, {}, steppedUp.headers))).toBe(200)
    expect(await subjectsTo(email)).toEqual(isNotified ? ALL : [])
  })

  it(`include a recovery, which ${isNotified ? 'is' : 'is not'} followed by a mail while passkeys are young`, async () => {
    const owner = await createSignedIn(service)
    const { email } = owner
    await register(service, owner)
    if (isNotified) await service.readMail(email)
    await recover(service, email)
    if (isNotified) expect((await service.readMail(email)).mail.subject).toBe('Check the passkeys of your account')
    await service.idle()
    const mails = service.recipients().filter((to) => to === email)
    expect(mails).toHaveLength(isNotified ? 3 : 1)
  })
})

describe.each(['compatible', 'supabase'])('the mail after a recovery, AUTH_PROFILE=%s', (profile) => {
  let service: MailApp
  beforeAll(async () => {
    service = await openMailApp({
      ...SETTINGS,
      AUTH_PROFILE: profile,
      AUTH_MAILER_NOTIFICATIONS_PASSKEY_ADDED_ENABLED: 'false',
      AUTH_MAILER_NOTIFICATIONS_PASSKEYS_KEPT_ENABLED: 'true',
      AUTH_SMTP_MAX_FREQUENCY: '1ms',
    })
  })
  afterAll(() => service.close())

  it('names the passkeys of 30 days by their times alone, whatever names they have', async () => {
    const owner = await createSignedIn(service)
    const { email, headers } = owner
    const registeredAt: string[] = []
    for (let count = 0; count < 2; count += 1) {
      const [id, at] = await register(service, owner)
      const name = { friendly_name: 'Call https://thief.example' }
      const renaming = { method: 'PATCH', url: `/passkeys/${id}`, headers, payload: name } as const
      expect(outcomeOf(await service.app.inject(renaming))).toBe(200)
      registeredAt.push(`${at.slice(0, 10)} ${at.slice(11, 16)} UTC`)
      service.clock.advance(10 * 60_000)
    }
    /** Returns the text of the mail that a later recovery sends, or `undefined` if it sends none. */
    const textAfter = async (ms: number, type: string): Promise<string | undefined> => {
      service.clock.advance(ms)
      const before = service.recipients().length
      await recover(service, email, type)
      await service.idle()
      return service.recipients().length === before + 1 ? undefined : (await service.readMail(email)).mail.text?.trim()
    }
    const textOf = (times: readonly string[]) =>
      `Your account ${email} was recovered by a mail. Passkeys that were added in the last 30 days are still there: ${times.join(', ')}. Remove those that you do not know.\nIf this was not you, contact support at once.`
    expect(await textAfter(0, 'magiclink')).toBeUndefined()
    expect(await textAfter(30 * DAY_MS - 20 * 60_000, 'recovery')).toBe(textOf(registeredAt))
    expect(await textAfter(1, 'recovery')).toBe(textOf(registeredAt.slice(1)))
    expect(await textAfter(10 * 60_000, 'recovery')).toBeUndefined()
  })

  it('is sent too after the link of the mail', async () => {
    const owner = await createSignedIn(service)
    await register(service, owner)
    await service.post('/recover', { email: owner.email })
    const { token } = await service.readMail(owner.email)
    expect((await service.app.inject({ url: `/verify?type=recovery&token=${token}` })).statusCode).toBe(303)
    expect((await service.readMail(owner.email)).mail.subject).toBe('Check the passkeys of your account')
  })
})
