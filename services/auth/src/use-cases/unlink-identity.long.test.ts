import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApp } from '../../test/authenticator-app.ts'
import {
  anyTime,
  emailIdentity,
  errorBody,
  identityBody,
  outcomeOf,
  signedUpBody,
  userBody,
} from '../../test/bodies.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, ownIdentityId, type SignedIn, signIn } from '../../test/signed-in.ts'

// An attacker with a stolen session links an identity with their own address and unlinks that of the user, to replace the user's
// address.
const CONFLICT = [
  422,
  errorBody(422, 'email_conflict_identity_not_deletable', 'Unable to unlink identity due to email conflict'),
]
const NEEDS_FACTOR = [
  403,
  errorBody(403, 'insufficient_aal', 'AAL2 session is required to manage identities when MFA is enabled'),
]
const DONE = 200
let phones = 14155550170

describe.each(['compatible', 'strict'])('an address and the identity that it goes with, AUTH_PROFILE=%s', (profile) => {
  let service: MailApp
  beforeAll(async () => {
    const settings = {
      AUTH_PROFILE: profile,
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    }
    // The times of authentication methods come from the clock of the database.
    service = await openMailApp(settings, { replace: () => ({ now: () => new Date() }) })
  })
  afterAll(() => service.close())

  async function link({ user }: SignedIn, provider: string, data: Record<string, unknown>): Promise<string> {
    const values = { user_id: user.id, provider, provider_id: `${provider}-${user.id}`, identity_data: data }
    const query = service.deps.db.insertInto('identities').values(values).returning('id')
    return (await query.executeTakeFirstOrThrow()).id
  }
  async function unlink(headers: SignedIn['headers'], id: string) {
    const answer = await service.app.inject({ method: 'DELETE', url: `/user/identities/${id}`, headers })
    return outcomeOf(answer)
  }
  const show = async (headers: SignedIn['headers']) => (await service.app.inject({ url: '/user', headers })).json()

  it('422: refuses to unlink the email identity of a confirmed email', async () => {
    const signedIn = await createSignedIn(service)
    await link(signedIn, 'github', { email: `thief-${signedIn.email}`, email_verified: true })
    expect(await unlink(signedIn.headers, ownIdentityId(signedIn))).toEqual(CONFLICT)
    const kept = { email: signedIn.email, email_confirmed_at: signedIn.record.email_confirmed_at }
    expect(await show(signedIn.headers)).toEqual(
      userBody({
        ...kept,
        id: signedIn.user.id,
        confirmation_sent_at: anyTime,
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ann' },
        identities: [
          emailIdentity(signedIn.user.id, signedIn.email, { email_verified: true }),
          identityBody({
            id: expect.any(String),
            user_id: signedIn.user.id,
            identity_data: { email: expect.any(String), email_verified: true },
            provider: 'github',
            email: expect.any(String),
            last_sign_in_at: undefined,
          }),
        ],
      }),
    )
  })

  it('422: refuses to unlink the provider identity of a confirmed email', async () => {
    const signedIn = await createSignedIn(service)
    const google = await link(signedIn, 'google', { email: signedIn.email, email_verified: true })
    await link(signedIn, 'github', { email: `thief-${signedIn.email}`, email_verified: true })
    expect(await unlink(signedIn.headers, ownIdentityId(signedIn))).toEqual(DONE)
    expect(await unlink(signedIn.headers, google)).toEqual(CONFLICT)
  })

  it('422: refuses to unlink the only identity with an email', async () => {
    const signedIn = await createSignedIn(service)
    await link(signedIn, 'github', {})
    expect(await unlink(signedIn.headers, ownIdentityId(signedIn))).toEqual(CONFLICT)
    expect(await show(signedIn.headers)).toEqual(
      signedUpBody(signedIn, {
        last_sign_in_at: anyTime,
        identities: [
          emailIdentity(signedIn.user.id, signedIn.email, { email_verified: true }),
          identityBody({
            id: expect.any(String),
            user_id: signedIn.user.id,
            identity_data: {},
            provider: 'github',
            last_sign_in_at: undefined,
          }),
        ],
      }),
    )
  })

  it('403: refuses to unlink an address, until the session has shown the second factor', async () => {
    phones += 1
    const signedIn = await createSignedIn(service, { phone: String(phones), phone_confirmed_at: new Date() })
    const phone = await link(signedIn, 'phone', { phone: String(phones), phone_verified: true })
    const github = await link(signedIn, 'github', { email: signedIn.email, email_verified: true })
    const steppedUp = await addApp(
      { ...service, clock: { now: () => new Date(), advance: () => {} } },
      signedIn.headers,
    )
    const { headers } = await signIn(service, signedIn)
    expect(await unlink(headers, phone)).toEqual(NEEDS_FACTOR)
    // Existing clients unlink identities without an address at aal1.
    expect(await unlink(headers, github)).toEqual(profile === 'strict' ? NEEDS_FACTOR : DONE)
    expect(await unlink(steppedUp.headers, phone)).toEqual(DONE)
    const left = await show(steppedUp.headers)
    expect([left.phone, left.email]).toEqual(['', signedIn.email])
  })
})
