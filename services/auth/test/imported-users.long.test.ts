import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { outcomeOf, statusAndBody, wrongPassword } from './bodies.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { runUsers } from './run-users.ts'

// An attack: a stranger has signed up at the former program with an address of somebody else, and never confirmed it.
const STRANGERS_PASSWORD = 'the password of a stranger'
const OWN_PASSWORD = 'the password of its owner'

let service: MailApp
let email: string
let people = 0
beforeAll(async () => {
  service = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: 'off' })
})
afterAll(() => service.close())
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

/** Confirms by the mail. @returns what of the account matters here */
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
