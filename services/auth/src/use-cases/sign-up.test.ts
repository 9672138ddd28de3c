import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { anyId } from '../../test/bodies.ts'
import { CONTEXT } from '../../test/sample-context.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import {
  emailSignupsDisabled,
  overEmailRateLimit,
  phoneSignupsDisabled,
  signupDisabled,
  userAlreadyExists,
} from '../errors.ts'
import { createSignUp } from '../message-requests/create-sign-up.ts'
import { describeMail } from '../messages/message-record.ts'
import { insertMessage } from '../messages/message-repository.ts'
import { passwordMissingAtSignUp, pkceAtPhoneSignUp, twoAddressesAtSignUp } from '../request-errors.ts'
import { type SignUpFields, signUp } from './sign-up.ts'

const { deps, close } = await openTestApp()
const [counted, failing] = [await openLimited(), await openLimited()]
const auto = await openTestApp({ settings: { AUTH_MAILER_AUTOCONFIRM: 'true' } })
afterAll(() => Promise.all([close(), counted.close(), failing.close(), auto.close()]))

/** Opens a service that sends two mails per hour. */
function openLimited(): Promise<TestApp> {
  return openTestApp({ settings: { AUTH_RATE_LIMIT_EMAIL_SENT: '2' } })
}

const [email, phone, password] = ['ada@example.com', '14155550100', 'correct horse']
const pkce = { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' }
const ask = (fields: SignUpFields, changes: Partial<TestApp['deps']['config']['signup']> = {}) => {
  const signup = { ...deps.config.signup, ...changes }
  const input = { fields, readContext: () => Promise.resolve(CONTEXT) }
  return signUp({ ...deps, config: { ...deps.config, signup } }, input)
}
const request = (value: string, on: TestApp['deps']) => {
  const identifier = { kind: 'email', value } as const
  return createSignUp(on, { identifier, password, pkce: undefined, channel: 'sms', data: {}, context: CONTEXT })
}

describe('signUp', () => {
  it('signs the normalised address up', async () => {
    await ask({ email: 'Grace@Example.com', password })
    const users = deps.db.selectFrom('users').select('email').where('email', 'ilike', '%grace@example.com%')
    expect(await users.execute()).toEqual([{ email: 'grace@example.com' }])
  })

  it('waits for no message that another transaction is writing', async () => {
    const other = {
      kind: 'CONFIRMATION',
      messageId: randomUUID(),
      to: 'other@example.com',
      userId: randomUUID(),
    } as const
    await deps.db.transaction().execute(async (trx) => {
      await insertMessage(trx, describeMail(other))
      await ask({ email: 'edsger@example.com', password })
    })
    const written = deps.db.selectFrom('messages').select(['recipient', 'user_id']).orderBy('created_at')
    const recipients = written.where('recipient', 'in', ['e…@example.com', 'o…@example.com'])
    expect(await recipients.execute()).toEqual([
      { recipient: 'o…@example.com', user_id: other.userId },
      { recipient: 'e…@example.com', user_id: anyId },
    ])
  })

  // Each request also has the errors of the later cases, so the test shows the order of the checks.
  it.each([
    ['a service without sign-ups', { email, phone }, { disabled: true }, signupDisabled],
    ['no password', { email, phone }, {}, passwordMissingAtSignUp],
    ['two addresses', { email, phone, password, ...pkce }, {}, twoAddressesAtSignUp],
    ['PKCE for a phone', { phone, password, ...pkce }, { phoneEnabled: false }, pkceAtPhoneSignUp],
    ['an email where only phones may', { email, password }, { emailEnabled: false }, emailSignupsDisabled],
    ['a phone where only emails may', { phone, password }, { phoneEnabled: false }, phoneSignupsDisabled],
  ])('refuses %s', async (_case, fields, changes, error) => {
    await expect(ask(fields, changes)).rejects.toThrow(error())
  })
})

/** Returns an answer without random values and times. */
const withoutDraws = (answer: object): unknown =>
  JSON.parse(
    JSON.stringify(answer)
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:\+00:00|Z)/g, '<time>'),
  )

describe('createSignUp', () => {
  it('answers a taken address like a free one', async () => {
    const taken = await createSignedUp(deps)
    const free = await request('free@example.com', deps)
    const repeated = await request(taken.email, deps)
    const known = JSON.stringify(withoutDraws(free)).replaceAll('free@example.com', taken.email)
    expect(JSON.stringify(withoutDraws(repeated))).toBe(known)
    expect(JSON.stringify(repeated)).not.toContain(taken.user.id)
  })

  it('answers as for a free address when the user of the address is deleted meanwhile', async () => {
    const free = await request('gone@example.com', deps)
    const compatibility = { ...deps.config.compatibility, revealRepeatedSignUp: true }
    const insertSignUp: typeof deps.insertSignUp = async (signUp) => {
      const outcome = await deps.insertSignUp(signUp)
      await deps.db.deleteFrom('users').where('email', '=', 'gone@example.com').execute()
      await deps.db.deleteFrom('send_throttle').execute()
      return outcome
    }
    const told = { ...deps, config: { ...deps.config, compatibility }, insertSignUp }
    const repeated = await request('gone@example.com', told)
    expect(withoutDraws(repeated)).toEqual(withoutDraws(free))
  })

  it('gives the mail of a taken address back', async () => {
    const taken = await createSignedUp(counted.deps)
    for (const address of [taken.email, 'first@example.com', 'second@example.com']) await request(address, counted.deps)
    await expect(request('third@example.com', counted.deps)).rejects.toThrow(
      overEmailRateLimit({ headers: { 'retry-after': '3600' } }),
    )
  })

  it('gives its mail back when it fails', async () => {
    const broken = { ...failing.deps, insertSignUp: () => Promise.reject(new Error('no database')) }
    for (let time = 0; time < 3; time += 1) {
      await expect(request('lost@example.com', broken)).rejects.toThrow('no database')
    }
    expect((await request('kept@example.com', failing.deps)).verdict).toBe('confirm')
  })

  it('signs in where addresses need no confirmation, and then reveals that an address is taken', async () => {
    expect((await request(email, auto.deps)).verdict).toBe('signed-in')
    await expect(request(email, auto.deps)).rejects.toThrow(userAlreadyExists())
  })
})
