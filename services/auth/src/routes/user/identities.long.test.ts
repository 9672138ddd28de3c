import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../../../test/authenticator-app.ts'
import { amrEntry, anyTime, claimsBody, errorBody, identityBody, signedUpBody, userBody } from '../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../test/expect-failure.ts'
import { type MailApp, openMailApp } from '../../../test/mail-app.ts'
import { createSignedIn, ownIdentityId, type SignedIn } from '../../../test/signed-in.ts'
import { createSignedUp } from '../../../test/signed-up.ts'
import { toTimestamp } from '../../records/timestamp.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_IDENTITY_UNLINKED_ENABLED: 'true',
    AUTH_DB_NAMESPACE: 'app',
  })
})
afterAll(() => test.close())

/** Adds an identity to a user. Returns the id of the identity. */
async function link({ user }: SignedIn, provider: string, data: Record<string, unknown>): Promise<string> {
  const values = { user_id: user.id, provider, provider_id: `${provider}-${user.id}`, identity_data: data }
  const query = test.deps.db.insertInto('identities').values(values).returning('id')
  return (await query.executeTakeFirstOrThrow()).id
}

/** Makes the email unconfirmed, as after a change by an admin. */
async function unconfirm({ user: { id } }: SignedIn): Promise<void> {
  await test.deps.db.updateTable('users').set({ email_confirmed_at: null }).where('id', '=', id).execute()
}

async function unlink({ headers }: Pick<SignedIn, 'headers'>, id: string) {
  const answer = await test.app.inject({ method: 'DELETE', url: `/user/identities/${id}`, headers })
  const user = (await test.app.inject({ url: '/user', headers })).json()
  return { status: answer.statusCode, body: answer.json(), user }
}

const CONFLICT = 'Unable to unlink identity due to email conflict'

const expectFailure = ({ headers }: Pick<SignedIn, 'headers'>, id: string, failure: Failure, on = test) =>
  failWith(on, { method: 'DELETE', url: `/user/identities/${id}`, headers }, failure)

describe('DELETE /user/identities/{identity_id}', () => {
  it('200: unlinks an identity, removes its provider and notifies the user', async () => {
    const signedIn = await createSignedIn(test)
    const id = await link(signedIn, 'github', { email: signedIn.email, email_verified: true })
    const { status, body, user } = await unlink(signedIn, id.toUpperCase())
    expect({ status, body }).toEqual({ status: 200, body: {} })
    expect(user).toEqual(
      signedUpBody(signedIn, { email_confirmed_at: signedIn.record.email_confirmed_at, last_sign_in_at: anyTime }),
    )
    const { mail } = await test.readMail(signedIn.email)
    expect(mail.subject).toBe('A sign-in method was removed from your account')
    expect(mail.text).toContain('github')
    const query = test.deps.db
      .selectFrom('audit_log_entries')
      .select('payload')
      .where('actor_id', '=', signedIn.user.id)
    const { user: actor } = signedIn
    const traits = {
      identity_id: id.toUpperCase().toLowerCase(),
      provider: 'github',
      provider_id: `github-${signedIn.user.id}`,
    }
    expect((await query.execute()).map(({ payload }) => payload)).toContainEqual({
      action: 'identity_unlinked',
      log_type: 'user',
      actor_id: actor.id,
      actor_username: signedIn.email,
      actor_via_sso: false,
      traits,
    })
  })

  it('200: unlinking removes an unconfirmed email and adopts a verified email of another identity that is free', async () => {
    const other = await createSignedUp(test.deps)
    const signedIn = await createSignedIn(test)
    await unconfirm(signedIn)
    const token = { user_id: signedIn.user.id, kind: 'recovery', relates_to: signedIn.email, expires_at: new Date() }
    await test.deps.db.insertInto('one_time_tokens').values(token).execute()
    await link(signedIn, 'gitlab', { email: `old-${signedIn.email}`, email_verified: false })
    await link(signedIn, 'google', { email: other.email, email_verified: true })
    await link(signedIn, 'github', { email: `new-${signedIn.email}`, email_verified: true })
    const { status, body, user } = await unlink(signedIn, ownIdentityId(signedIn))
    expect([status, body]).toEqual([200, {}])
    expect([user.email, user.email_confirmed_at]).toEqual([`new-${signedIn.email}`, toTimestamp(test.clock.now())])
    const left = test.deps.db.selectFrom('one_time_tokens').select('id').where('user_id', '=', signedIn.user.id)
    expect(await left.execute()).toEqual([])
    expect((await test.readMail(signedIn.email)).mail.subject).toMatch(/^A sign-in method was removed/)
  })

  // With an unverified address in the access token, its owner could impersonate another user.
  it('422: never adopts an email that its provider has not verified', async () => {
    const signedIn = await createSignedIn(test)
    await unconfirm(signedIn)
    await link(signedIn, 'gitlab', { email: 'ceo@corp.example', email_verified: false })
    await link(signedIn, 'bitbucket', { email: 'cto@corp.example' })
    await expectFailure(signedIn, ownIdentityId(signedIn), [422, 'email_conflict_identity_not_deletable', CONFLICT])
    const refreshed = await test.post('/token?grant_type=refresh_token', { refresh_token: signedIn.refreshToken })
    expect(claimsOf(refreshed.json().access_token)).toEqual(
      claimsBody({
        sub: signedIn.user.id,
        email: signedIn.email,
        email_verified: false,
        user_metadata: { name: 'Ann' },
        amr: [amrEntry('password')],
        session_id: signedIn.sessionId,
      }),
    )
  })

  it('200: unlinking removes the phone, and an unconfirmed email without a replacement', async () => {
    const signedIn = await createSignedIn(test, { phone: '14155550160', phone_confirmed_at: new Date() })
    const phone = await link(signedIn, 'phone', { phone: '14155550160', phone_verified: true })
    const first = await unlink(signedIn, phone)
    expect(first.status).toBe(200)
    expect(first.user).toEqual(signedUpBody(signedIn, { last_sign_in_at: anyTime }))
    await link(signedIn, 'phone', { phone: '14155550161', phone_verified: true })
    await unconfirm(signedIn)
    const second = await unlink(signedIn, ownIdentityId(signedIn))
    expect(second.user).toEqual(
      userBody({
        id: signedIn.user.id,
        confirmation_sent_at: anyTime,
        last_sign_in_at: anyTime,
        app_metadata: { provider: 'phone', providers: ['phone'] },
        user_metadata: { name: 'Ann' },
        identities: [
          identityBody({
            id: expect.any(String),
            user_id: signedIn.user.id,
            identity_data: { phone: '14155550161', phone_verified: true },
            provider: 'phone',
            last_sign_in_at: undefined,
          }),
        ],
      }),
    )
  })

  it('422: refuses the last identity, an unknown identity and a conflict of emails', async () => {
    const signedIn = await createSignedIn(test)
    const own = ownIdentityId(signedIn)
    const single = 'User must have at least 1 identity after unlinking'
    await expectFailure(signedIn, own, [422, 'single_identity_not_deletable', single])
    const other = await createSignedIn(test)
    await link(signedIn, 'github', { email: other.email, email_verified: true })
    await unconfirm(signedIn)
    await expectFailure(signedIn, ownIdentityId(other), [422, 'identity_not_found', "Identity doesn't exist"])
    await expectFailure(signedIn, own, [422, 'email_conflict_identity_not_deletable', CONFLICT])
  })

  it('200 and 422: keeps one identity when parallel requests unlink the last two', async () => {
    const signedIn = await createSignedIn(test)
    const github = await link(signedIn, 'github', { email: signedIn.email, email_verified: true })
    const answers = await Promise.all([unlink(signedIn, github), unlink(signedIn, ownIdentityId(signedIn))])
    const single = 'User must have at least 1 identity after unlinking'
    const refused = answers.filter(({ status }) => status !== 200).map(({ status, body }) => ({ status, body }))
    expect(refused).toEqual([{ status: 422, body: errorBody(422, 'single_identity_not_deletable', single) }])
  })

  it('401: refuses a request without an access token', async () => {
    const nobody = { headers: { authorization: '' } }
    const missing = 'This endpoint requires a valid Bearer token'
    await expectFailure(nobody, randomUUID(), [401, 'no_authorization', missing])
  })

  it('403: refuses a session that has ended', async () => {
    const signedIn = await createSignedIn(test)
    await test.deps.db.deleteFrom('sessions').where('user_id', '=', signedIn.user.id).execute()
    const ended = 'Session from session_id claim in JWT does not exist'
    await expectFailure(signedIn, randomUUID(), [403, 'session_not_found', ended])
  })

  it('403: refuses a request for another audience', async () => {
    const { headers } = await createSignedIn(test)
    const elsewhere = { headers: { ...headers, 'x-jwt-aud': 'elsewhere' } }
    const mismatch = "Token audience doesn't match request audience"
    await expectFailure(elsewhere, randomUUID(), [403, 'unexpected_audience', mismatch])
  })

  it('404: refuses a malformed id', async () => {
    const signedIn = await createSignedIn(test)
    await expectFailure(signedIn, 'x', [404, 'validation_failed', 'identity_id must be an UUID'])
  })

  it('404: refuses every request while linking is off', async () => {
    const off = await openMailApp()
    const there = await createSignedIn(off)
    await expectFailure(there, randomUUID(), [404, 'manual_linking_disabled', 'Manual linking is disabled'], off)
    await off.close()
  })
})
