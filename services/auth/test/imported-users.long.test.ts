import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { outcomeOf, phoneIdentity, statusAndBody, wrongPassword } from './bodies.ts'
import { type AnybodyStub, signInAs, startAnybodyProvider } from './external/anybody-provider.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { runUsers } from './run-users.ts'

// Tests an attack: in the other program, a stranger signed up with another person's address and never confirmed it.
const STRANGERS_PASSWORD = 'the password of a stranger'
const OWN_PASSWORD = 'the password of its owner'

let service: MailApp
let stub: AnybodyStub
let email: string
let people = 0
beforeAll(async () => {
  stub = await startAnybodyProvider()
  service = await openMailApp({
    ...stub.settings,
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_SMS_TEST_OTP: '15005550071:123456,15005550072:123456',
    AUTH_SMS_TEST_OTP_VALID_UNTIL: '2100-01-01T00:00:00Z',
  })
})
afterAll(async () => {
  await service.close()
  await stub.close()
})
beforeEach(() => {
  people += 1
  email = `moved${people}@example.com`
})

async function importUser(more: object = {}): Promise<void> {
  const line = {
    email,
    password_hash: await service.deps.passwords.hash(STRANGERS_PASSWORD),
    user_metadata: { name: 'planted' },
    identities: [
      { provider: 'email', provider_id: 'x' },
      { provider: 'google', provider_id: `of-a-stranger-${people}`, identity_data: { email } },
      { provider: 'github', provider_id: `own-${people}`, identity_data: { email, email_verified: true } },
    ],
    ...more,
  }
  expect((await runUsers(service, ['import'], `${JSON.stringify(line)}\n`)).failure).toBeUndefined()
}

/** Confirms with the mail. @returns the relevant values of the account */
async function confirm(type: string) {
  const { code } = await service.readMail(email)
  const answer = await service.post('/verify', { type, email, token: code })
  expect(outcomeOf(answer)).toBe(200)
  const { user } = answer.json()
  const providers = user.identities.map((identity: { provider: string }) => identity.provider).sort()
  return { name: user.user_metadata.name, providers, listed: user.app_metadata.providers.toSorted() }
}

const tryPassword = (password: string) => service.post('/token?grant_type=password', { email, password })

it('gives an owner who signs up an imported account without the password and metadata of a stranger', async () => {
  await importUser()
  await service.post('/signup', { email, password: OWN_PASSWORD, data: { name: 'Ann' } })
  expect(await confirm('signup')).toEqual({ name: 'Ann', providers: ['email', 'github'], listed: ['email', 'github'] })
  expect(statusAndBody(await tryPassword(STRANGERS_PASSWORD))).toEqual(wrongPassword)
  expect((await tryPassword(OWN_PASSWORD)).statusCode).toBe(200)
})

it('gives an owner who asks for a code an imported account without anything of a stranger', async () => {
  await importUser()
  await service.post('/otp', { email })
  const own = { name: undefined, providers: ['email', 'github'], listed: ['email', 'github'] }
  expect(await confirm('email')).toEqual(own)
  expect(statusAndBody(await tryPassword(STRANGERS_PASSWORD))).toEqual(wrongPassword)
})

it('leaves an imported user who has the confirmation sent again their password', async () => {
  await importUser({ user_metadata: { name: 'Ann' } })
  await service.post('/resend', { type: 'signup', email })
  expect(await confirm('signup')).toEqual({ name: 'Ann', providers: ['email', 'github'], listed: ['email', 'github'] })
  expect((await tryPassword(STRANGERS_PASSWORD)).statusCode).toBe(200)
})

it('leaves a confirmed imported user everything', async () => {
  await importUser({ email_confirm: true })
  await service.post('/otp', { email })
  const all = ['email', 'github', 'google']
  expect(await confirm('email')).toEqual({ name: 'planted', providers: all, listed: all })
  expect((await tryPassword(STRANGERS_PASSWORD)).statusCode).toBe(200)
})

it('leaves an invited imported user what the admin wrote', async () => {
  await importUser({ invited_at: '2026-01-01T00:00:00Z' })
  await service.post('/otp', { email })
  expect((await confirm('email')).name).toBe('planted')
})

it('gives an owner who was invited before the import the account without the password of a stranger', async () => {
  expect(await importStranger({ email, invited_at: '2026-01-01T00:00:00Z' })).toEqual({
    output: '1 added, 0 there already, 0 refused\n',
    reports: [
      'line 1: the password belongs to an invitation that nobody has accepted, and is left out',
      'passwords of open invitations that are left out: 1',
    ],
    failure: undefined,
  })
  await service.post('/otp', { email })
  expect((await confirm('email')).providers).toEqual(['email'])
  expect(statusAndBody(await tryPassword(STRANGERS_PASSWORD))).toEqual(wrongPassword)
})

/** Imports a stranger's account with one confirmed address and another person's unconfirmed address. */
async function importStranger(line: object) {
  const password_hash = await service.deps.passwords.hash(STRANGERS_PASSWORD)
  return runUsers(service, ['import'], `${JSON.stringify({ password_hash, ...line })}\n`)
}

const importedWithout = (kind: 'email' | 'phone') => ({
  output: '1 added, 0 there already, 0 refused\n',
  reports: [
    `line 1: the ${kind} is not confirmed, and is left out`,
    'unconfirmed second addresses that are left out: 1',
  ],
  failure: undefined,
})

it('gives the owner of an email, which a user of a confirmed phone had never confirmed, an account of their own', async () => {
  const phone = '+15005550061'
  expect(await importStranger({ email, phone, phone_confirm: true })).toEqual(importedWithout('email'))
  await service.post('/signup', { email, password: OWN_PASSWORD, data: { name: 'Ann' } })
  expect(await confirm('signup')).toEqual({ name: 'Ann', providers: ['email'], listed: ['email'] })
  expect((await tryPassword(OWN_PASSWORD)).json().user.phone).toBe('')
  expect(statusAndBody(await tryPassword(STRANGERS_PASSWORD))).toEqual(wrongPassword)
})

it('gives the owner of a phone, which a user of a confirmed email had never confirmed, an account of their own', async () => {
  const phone = '+15005550071'
  expect(await importStranger({ email, email_confirm: true, phone })).toEqual(importedWithout('phone'))
  await service.post('/otp', { phone })
  const verified = await service.post('/verify', { type: 'sms', phone, token: '123456' })
  expect([verified.statusCode, verified.json().user.email]).toEqual([200, ''])
  expect((await tryPassword(STRANGERS_PASSWORD)).json().user.phone).toBe('')
})

// A stranger's account at a provider that has not verified the address.
const strangersAccount = () => ({
  identities: [
    { provider: 'email', provider_id: 'x' },
    { provider: 'gitlab', provider_id: String(500 + people), identity_data: { email: 'mallory@example.com' } },
  ],
})
const signInAsStranger = async () =>
  (
    await signInAs(service, 'gitlab', {
      sub: String(500 + people),
      email: `mallory${people}@example.com`,
      verified: true,
    })
  ).fragment.access_token ?? ''
const emailOf = async (token: string) =>
  (await service.app.inject({ url: '/user', headers: { authorization: `Bearer ${token}` } })).json().email
const invite = () => service.post('/invite', { email, data: { name: 'Ann' } }, OPERATOR)

it('ends the way in of a stranger with an invitation of an imported account, before anybody accepts it', async () => {
  await importUser(strangersAccount())
  await invite()
  expect(await emailOf(await signInAsStranger())).toBe(`mallory${people}@example.com`)
  expect(await confirm('invite')).toEqual({ name: 'Ann', providers: ['email'], listed: ['email'] })
})

it('gives an owner who was invited before the import the account without the account of a stranger', async () => {
  await importUser({ ...strangersAccount(), invited_at: '2026-01-01T00:00:00Z' })
  await service.post('/otp', { email })
  expect(await confirm('email')).toEqual({ name: 'planted', providers: ['email'], listed: ['email'] })
  expect(await emailOf(await signInAsStranger())).toBe(`mallory${people}@example.com`)
})

it('leaves an invited user of a claimed account the accounts at providers', async () => {
  const claimed = { invited_at: '2026-01-01T00:00:00Z', claimed_at: '2026-01-01T00:00:00Z' }
  await importUser({ ...strangersAccount(), ...claimed })
  await service.post('/otp', { email })
  const all = ['email', 'gitlab']
  expect(await confirm('email')).toEqual({ name: 'planted', providers: all, listed: all })
})

it('gives the owner of a phone, whose user has only the account of a stranger, an identity of the phone', async () => {
  const phone = '+15005550072'
  const identities = strangersAccount().identities.slice(1)
  const line = { phone, identities, invited_at: '2026-01-01T00:00:00Z' }
  expect((await runUsers(service, ['import'], `${JSON.stringify(line)}\n`)).failure).toBeUndefined()
  await service.post('/otp', { phone })
  const { user } = (await service.post('/verify', { type: 'sms', phone, token: '123456' })).json()
  expect(user.app_metadata).toEqual({ provider: 'phone', providers: ['phone'] })
  expect(user.identities).toEqual([phoneIdentity(user.id, '15005550072', { phone_verified: true })])
})
