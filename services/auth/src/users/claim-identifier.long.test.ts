import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addApp } from '../../test/authenticator-app.ts'
import {
  anyId,
  anyTime,
  confirmedBody,
  factorBody,
  outcomeOf,
  signedUpBody,
  statusAndBody,
  unconfirmedBody,
  wrongPassword,
} from '../../test/bodies.ts'
import { expectSession, expectUser } from '../../test/expect-user.ts'
import {
  type Anybody,
  type AnybodyStub,
  begin,
  comeBackAs,
  startAnybodyProvider,
} from '../../test/external/anybody-provider.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, type SignedIn } from '../../test/signed-in.ts'

// Tests an attack: an account whose address becomes unconfirmed again must not count as unclaimed. Otherwise a stranger who
// confirms the address would get its second factor, password and data.
const VERIFIER = 'v'.repeat(43)
const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 's256',
}
const STRANGERS_PASSWORD = 'the password of a stranger'
let people = 0

describe.each(['compatible', 'strict'])('a claimed account, AUTH_PROFILE=%s', (profile) => {
  const expires_in = profile === 'strict' ? 900 : 3_600
  // The session lacks the second factor and ends, so the token's lifetime counts from the start of the session.
  const untilSessionEnds = expect.toSatisfy((seconds) => seconds === expires_in || seconds === expires_in - 1)
  let service: MailApp
  let stub: AnybodyStub
  let address: string
  let account: Anybody
  beforeAll(async () => {
    stub = await startAnybodyProvider()
    const settings = {
      ...stub.settings,
      AUTH_PROFILE: profile,
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
      AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
      AUTH_EXTERNAL_KEYCLOAK_EMAIL_OPTIONAL: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    }
    // The database clock dates authentication methods, so this service uses the real time.
    service = await openMailApp(settings, { replace: () => ({ now: () => new Date() }) })
  })
  afterAll(async () => {
    await service.close()
    await stub.close()
  })
  beforeEach(() => {
    people += 1
    address = `claimed${people}@example.com`
    account = { sub: `8${people}` }
  })

  const bearer = (token: unknown) => ({ authorization: `Bearer ${token}` })
  const enrol = (headers: SignedIn['headers']) =>
    addApp({ ...service, clock: { now: () => new Date(), advance: () => {} } }, headers)
  const update = (id: string, payload: object) =>
    service.app.inject({ method: 'PUT', url: `/admin/users/${id}`, headers: OPERATOR, payload })
  const tryPassword = async (email: string, password: string) =>
    outcomeOf(await service.post('/token?grant_type=password', { email, password }))

  /** Signs in at the provider, or links the account to the session of `state`. */
  async function signInAs(account: Anybody, state?: string) {
    const { query } = await comeBackAs(service, state ?? (await begin(service, 'keycloak', PKCE)), account)
    const exchange = { auth_code: query.code, code_verifier: VERIFIER }
    const answer = await service.post('/token?grant_type=pkce', exchange)
    expect(outcomeOf(answer)).toBe(200)
    return { user: answer.json().user, headers: bearer(answer.json().access_token) }
  }
  async function link(headers: SignedIn['headers']) {
    const url = `/user/identities/authorize?${new URLSearchParams({ provider: 'keycloak', ...PKCE })}`
    const begun = await service.app.inject({ url, headers })
    return signInAs(account, new URL(String(begun.headers.location)).searchParams.get('state') ?? '')
  }
  async function confirm(email: string) {
    expect(statusAndBody(await service.post('/otp', { email }))).toEqual([200, {}])
    const answer = await service.post('/verify', { type: 'email', email, token: (await service.readMail(email)).code })
    expect(outcomeOf(answer)).toBe(200)
    return answer.json().user
  }
  async function show(id: string) {
    const { user_metadata, identities, factors, email } = (
      await service.app.inject({ url: `/admin/users/${id}`, headers: OPERATOR })
    ).json()
    const providers = identities.map(({ provider }: { provider: string }) => provider).sort()
    return { email, name: user_metadata.name, providers, factors: (factors ?? []).length }
  }

  it('keeps its data when its provider first returns an address', async () => {
    const { user, headers } = await signInAs(account)
    await enrol(headers)
    await service.app.inject({ method: 'PUT', url: '/user', headers, payload: { data: { name: 'Ann' } } })
    expect((await signInAs({ ...account, email: address, verified: true })).user.id).toBe(user.id)
    expect(await show(user.id)).toEqual({ email: address, name: 'Ann', providers: ['keycloak'], factors: 1 })
  })

  it('keeps its data when an anonymous user has linked that provider', async () => {
    const anonymous = (await service.post('/signup', { data: { name: 'Ann' } })).json()
    await link(bearer(anonymous.access_token))
    await signInAs({ ...account, email: address, verified: true })
    expect(await show(anonymous.user.id)).toEqual({ email: address, name: 'Ann', providers: ['keycloak'], factors: 0 })
  })

  it('keeps its data after it has lost its address', async () => {
    const signedIn = await createSignedIn(service)
    await link((await enrol(signedIn.headers)).headers)
    const { db } = service.deps
    const lost = sql`email = NULL, email_confirmed_at = NULL`
    await sql`UPDATE ${sql.table('users')} SET ${lost} WHERE id = ${signedIn.user.id}`.execute(db)
    const known = { ...account, email: address, verified: true }
    expect((await signInAs(known)).user.id).toBe(signedIn.user.id)
    // The identity was added later, so it does not replace the second factor.
    const kept = { email: '', name: 'Ann', providers: ['email', 'keycloak'], factors: 1 }
    expect(await show(signedIn.user.id)).toEqual(kept)
    await update(signedIn.user.id, { email: address, email_confirm: true })
    expect(await tryPassword(address, signedIn.password)).toBe(200)
  })

  it.each([
    ['a code', (email: string) => confirm(email)],
    ['a provider', async (email: string) => (await signInAs({ ...account, email, verified: true })).user],
  ])('keeps its data when an admin sets an address and %s confirms it', async (_name, confirmBy) => {
    const signedIn = await createSignedIn(service)
    await enrol(signedIn.headers)
    expectUser(
      await update(signedIn.user.id, { email: address }),
      unconfirmedBody(address, {
        id: signedIn.user.id,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ann' },
        factors: [factorBody({ last_challenged_at: anyTime })],
      }),
    )
    expect((await confirmBy(address)).id).toBe(signedIn.user.id)
    const { email, name, factors } = await show(signedIn.user.id)
    expect([email, name, factors]).toEqual([address, 'Ann', 1])
    expect(await tryPassword(address, signedIn.password)).toBe(200)
  })

  it('keeps its password when an admin sets an address and invites it', async () => {
    const signedIn = await createSignedIn(service)
    await update(signedIn.user.id, { email: address })
    expectUser(
      await service.post('/invite', { email: address }, OPERATOR),
      unconfirmedBody(address, {
        id: signedIn.user.id,
        invited_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ann' },
      }),
    )
    await update(signedIn.user.id, { email_confirm: true })
    expect(await tryPassword(address, signedIn.password)).toBe(200)
  })

  it('keeps the password with which an admin has created it', async () => {
    const password = 'given to Ann by an admin'
    const made = await service.post('/admin/users', { email: address, password }, OPERATOR)
    // The first mail is the invitation. In an adopted database, the next message invalidates its code.
    await service.readMail(address)
    expect((await confirm(address)).id).toBe(made.json().id)
    expect(await tryPassword(address, password)).toBe(200)
  })

  it('takes over nothing of a signup, although an admin has confirmed the account', async () => {
    const first = `first${people}@example.com`
    const password = 'a password of her own'
    await service.post('/signup', { email: first, password, data: { name: 'Ann' } })
    const { users } = (await service.app.inject({ url: `/admin/users?filter=${first}`, headers: OPERATOR })).json()
    await update(users[0].id, { email_confirm: true })
    await update(users[0].id, { email: address })
    await service.post('/signup', { email: address, password: STRANGERS_PASSWORD, data: { name: 'Mole' } })
    const { code } = await service.readMail(address)
    const answer = await service.post('/verify', { type: 'signup', email: address, token: code })
    expect(outcomeOf(answer)).toBe(200)
    expect(await show(users[0].id)).toEqual({ email: address, name: 'Ann', providers: ['email'], factors: 0 })
    expect([await tryPassword(address, STRANGERS_PASSWORD), await tryPassword(address, password)]).toEqual([
      wrongPassword,
      200,
    ])
  })

  /** Requests that send an invitation to an address that an admin has set. */
  const MESSAGES = [
    ['invited again', () => service.post('/invite', { email: address }, OPERATOR)],
    ['sent the confirmation once more', () => service.post('/resend', { type: 'signup', email: address })],
  ] as const
  async function moveInvited(send: () => ReturnType<MailApp['post']>) {
    const signedIn = await createSignedIn(service, { invited_at: new Date() })
    await enrol(signedIn.headers)
    await update(signedIn.user.id, { email: address })
    expect((await send()).statusCode).toBe(200)
    return { signedIn, ...(await service.readMail(address)) }
  }

  it.each(MESSAGES)('keeps its password when an admin sets an address, which is %s', async (_name, send) => {
    const { signedIn, code } = await moveInvited(send)
    const payload = { type: 'invite', email: address, token: code, password: STRANGERS_PASSWORD }
    const answer = await service.post('/verify', payload)
    expect([answer.statusCode, answer.json().user.id]).toEqual([200, signedIn.user.id])
    expect([await tryPassword(address, STRANGERS_PASSWORD), await tryPassword(address, signedIn.password)]).toEqual([
      wrongPassword,
      200,
    ])
    expect(await show(signedIn.user.id)).toEqual({ email: address, name: 'Ann', providers: ['email'], factors: 1 })
  })

  it.each(MESSAGES)('gets no identity when an admin sets an address, which is %s', async (_name, send) => {
    const { signedIn, token } = await moveInvited(send)
    const state = await begin(service, 'keycloak', { ...PKCE, invite_token: token })
    const { query } = await comeBackAs(service, state, { ...account, email: address, verified: true })
    expect(query).toEqual({
      error: 'server_error',
      error_code: 'invite_not_found',
      error_description: 'Invite not found',
    })
    expect(await show(signedIn.user.id)).toEqual({ email: address, name: 'Ann', providers: ['email'], factors: 1 })
  })

  it('accepts no password by a message while it has a second factor', async () => {
    const signedIn = await createSignedIn(service)
    await enrol(signedIn.headers)
    const { db } = service.deps
    await db.updateTable('users').set({ encrypted_password: null }).where('id', '=', signedIn.user.id).execute()
    await update(signedIn.user.id, { email: address })
    await service.post('/resend', { type: 'signup', email: address })
    const { code } = await service.readMail(address)
    const payload = { type: 'signup', email: address, token: code, password: STRANGERS_PASSWORD }
    expectSession(
      await service.post('/verify', payload),
      signedUpBody({ ...signedIn, email: address }, { factors: [factorBody({ last_challenged_at: anyTime })] }),
      { type: 'signup', expires_in: untilSessionEnds },
    )
    expect(await tryPassword(address, STRANGERS_PASSWORD)).toEqual(wrongPassword)
  })

  it('accepts the password of an invitation until its first sign-in', async () => {
    const password = 'a password of her own'
    await service.post('/admin/users', { email: address, password: STRANGERS_PASSWORD }, OPERATOR)
    const { code } = await service.readMail(address)
    const answer = await service.post('/verify', { type: 'invite', email: address, token: code, password })
    expectSession(answer, confirmedBody(anyId, address, { invited_at: anyTime, confirmation_sent_at: anyTime }), {
      type: 'invite',
      expires_in,
    })
    expect([await tryPassword(address, STRANGERS_PASSWORD), await tryPassword(address, password)]).toEqual([
      wrongPassword,
      200,
    ])
  })
})
