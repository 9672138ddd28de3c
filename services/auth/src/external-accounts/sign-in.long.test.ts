import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimsOf } from '../../test/authenticator-app.ts'
import {
  accountBody,
  anyId,
  anyTime,
  emailIdentity,
  errorBody,
  externalBody,
  grantErrorBody,
  outcomeOf,
  statusAndBody,
  userBody,
  wrongPassword,
} from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import {
  type Anybody,
  type AnybodyProvider,
  type AnybodyStub,
  begin,
  beginLinking,
  comeBackAs,
  landedBody,
  signInAs,
  startAnybodyProvider,
} from '../../test/external/anybody-provider.ts'
import { land } from '../../test/external/external-app.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn } from '../../test/signed-in.ts'
import { createSignedUp } from '../../test/signed-up.ts'

let service: MailApp
let stub: AnybodyStub
beforeAll(async () => {
  stub = await startAnybodyProvider()
  service = await openMailApp({
    ...stub.settings,
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_SMTP_MAX_FREQUENCY: '0',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
    AUTH_EXTERNAL_KEYCLOAK_EMAIL_OPTIONAL: 'true',
  })
})
afterAll(async () => {
  await service.close()
  await stub.close()
})

let people = 0
let email = ''
/** The account of the victim at a provider. */
let own: Anybody
beforeEach(() => {
  people += 1
  email = `kate${people}@example.com`
  own = { sub: `1${people}`, email, verified: true }
})
/** Returns the account of the attacker at a provider. */
const attacker = (changes: Partial<Anybody> = {}): Anybody => ({
  sub: `2${people}`,
  email,
  verified: false,
  ...changes,
})

type Session = { readonly id: string; readonly user: Readonly<Record<string, unknown>>; readonly refreshToken: string }

/** Returns the user who is signed in in a browser, or `undefined` if the sign-in was refused. */
async function whoIs(landing: ReturnType<typeof signInAs>): Promise<Session | undefined> {
  const { fragment } = await landing
  if (!fragment.access_token) return undefined
  const headers = { authorization: `Bearer ${fragment.access_token}` }
  const user = (await service.app.inject({ url: '/user', headers })).json()
  return { id: user.id, user, refreshToken: fragment.refresh_token ?? '' }
}

const signIn = (provider: AnybodyProvider, account: Anybody) => whoIs(signInAs(service, provider, account))
const refused = async (landing: ReturnType<typeof signInAs>) => (await landing).fragment.error_code

const login = async (password: string) =>
  outcomeOf(await service.post('/token?grant_type=password', { email, password }))

const signUp = (password: string) => service.post('/signup', { email, password, data: { role: 'mole' } })

describe('a user with an account', () => {
  it('loses nothing to an account with the same unverified address', async () => {
    const { user } = await createSignedUp(service.deps, { email })
    expect(await refused(signInAs(service, 'keycloak', attacker()))).toBe('provider_email_needs_verification')
    const identities = service.deps.db.selectFrom('identities').select('provider').where('user_id', '=', user.id)
    expect(await identities.execute()).toEqual([{ provider: 'email' }])
  })

  it('loses nothing to an account that lists the address beside a verified one', async () => {
    const { user } = await createSignedUp(service.deps, { email })
    const other = attacker({ email: `attacker${people}@example.com`, verified: true, others: [email] })
    const session = await signIn('gitlab', other)
    expect(session?.user).toEqual(
      externalBody('gitlab', accountBody({ iss: stub.url, sub: other.sub, email: other.email }), {
        email: `attacker${people}@example.com`,
      }),
    )
    expect(session?.id).not.toBe(user.id)
  })

  it('loses nothing to the same unverified address at another provider', async () => {
    const victim = await signIn('keycloak', own)
    expect(await refused(signInAs(service, 'gitlab', attacker()))).toBe('provider_email_needs_verification')
    expect((await signIn('keycloak', own))?.user.identities).toHaveLength(1)
    expect(victim?.user.email).toBe(email)
  })

  it('stays hidden from an account with the same unverified address', async () => {
    await createSignedUp(service.deps, { email })
    const sent = service.recipients().length
    const [taken, free] = [attacker(), attacker({ sub: `3${people}`, email: `free${people}@example.com` })]
    for (const turn of ['first', 'again']) {
      const [known, unknown] = [await signInAs(service, 'gitlab', taken), await signInAs(service, 'gitlab', free)]
      expect([turn, known]).toEqual([turn, unknown])
    }
    await service.idle()
    expect(new Set(service.recipients().slice(sent))).toEqual(new Set([free.email]))
    // A mail cannot confirm anything if the provider no longer returns an address.
    const { fragment } = await signInAs(service, 'gitlab', { sub: free.sub })
    expect(fragment.error_description).toBe(
      'Unverified email with gitlab. Verify the email with gitlab in order to sign in',
    )
  })

  // ASVS 6.8.1, 10.5.2
  it('loses nothing to the same number at another provider', async () => {
    const victim = await signIn('keycloak', own)
    const other = await signIn('gitlab', { ...own, email: `other${people}@example.com` })
    expect(other?.id).not.toBe(victim?.id)
  })

  it.each([
    // The Kelvin sign, whose lower-case form is k.
    ['a letter that folds to an ASCII one', (address: string) => address.replace('k', '\u212a')],
    ['a full-width at sign', (address: string) => address.replace('@', '\uff20')],
    ['a trailing dot', (address: string) => `${address}.`],
    ['space around it', (address: string) => ` ${address} `],
    ['a NUL', (address: string) => `${address}\0`],
  ])('loses nothing to an address with %s', async (_name, disguise) => {
    const { user } = await createSignedUp(service.deps, { email })
    const session = await signIn('keycloak', attacker({ email: disguise(email), verified: true }))
    expect(session?.id).not.toBe(user.id)
    expect(session?.user.email ?? '').not.toBe(email)
  })

  it('stays banned at every provider', async () => {
    const { user } = await createSignedUp(service.deps, { email, banned_until: new Date('2100-01-01') })
    expect(await refused(signInAs(service, 'keycloak', own))).toBe('user_banned')
    const identities = service.deps.db.selectFrom('identities').select('provider').where('user_id', '=', user.id)
    expect(await identities.execute()).toEqual([{ provider: 'email' }])
  })

  it('is not found by an unlinked identity', async () => {
    const signedIn = await createSignedIn(service)
    const strange = attacker({ email: `old${people}@example.com`, verified: true })
    await comeBackAs(service, await beginLinking(service, 'keycloak', signedIn.headers), strange)
    const user = (await service.app.inject({ url: '/user', headers: signedIn.headers })).json()
    const [, linked] = user.identities
    const url = `/user/identities/${linked.identity_id}`
    expect(statusAndBody(await service.app.inject({ method: 'DELETE', url, headers: signedIn.headers }))).toEqual([
      200,
      {},
    ])
    expect((await signIn('keycloak', strange))?.id).not.toBe(signedIn.user.id)
  })

  it('is not restored by their provider after deletion', async () => {
    const victim = await signIn('keycloak', own)
    const payload = { should_soft_delete: true }
    await service.app.inject({ method: 'DELETE', url: `/admin/users/${victim?.id}`, headers: OPERATOR, payload })
    expect((await signIn('keycloak', own))?.id).not.toBe(victim?.id)
  })
})

describe('an owner whose address a stranger has used first', () => {
  it('inherits no password of the stranger', async () => {
    await signUp('the password of a stranger')
    const { token } = await service.readMail(email)
    const victim = await signIn('keycloak', own)
    expect(victim?.user).toEqual(
      externalBody('keycloak', accountBody({ iss: stub.url, sub: own.sub, email, custom_claims: { verified: true } }), {
        confirmation_sent_at: anyTime,
      }),
    )
    expect(await login('the password of a stranger')).toEqual(wrongPassword)
    const dead = await service.post('/verify', { type: 'signup', token_hash: token })
    expect(statusAndBody(dead)).toEqual([403, errorBody(403, 'otp_expired', 'Email link is invalid or has expired')])
  })

  it('inherits no identity of the stranger', async () => {
    expect(await refused(signInAs(service, 'gitlab', attacker()))).toBe('provider_email_needs_verification')
    await service.idle()
    const victim = await signIn('keycloak', own)
    expect(victim?.user).toEqual(
      externalBody('keycloak', accountBody({ iss: stub.url, sub: own.sub, email, custom_claims: { verified: true } }), {
        confirmation_sent_at: anyTime,
      }),
    )
    expect(await refused(signInAs(service, 'gitlab', attacker()))).toBe('provider_email_needs_verification')
    expect((await signIn('keycloak', own))?.user.identities).toHaveLength(1)
  })

  it('inherits no session, pending change or phone of the stranger', async () => {
    const anonymous = (await service.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${anonymous.access_token}` }
    expect(await refused(comeBackAs(service, await beginLinking(service, 'gitlab', headers), attacker()))).toBe(
      'email_not_confirmed',
    )
    const payload = { phone: `1415777${1_000 + people}` }
    await service.app.inject({ method: 'PUT', url: '/user', headers, payload })
    const victim = await signIn('keycloak', own)
    expect(victim?.user).toEqual(
      externalBody('keycloak', accountBody({ iss: stub.url, sub: own.sub, email, custom_claims: { verified: true } })),
    )
    // The attacker's account never had the address, so the accounts are different.
    const stranger = (await service.app.inject({ url: '/user', headers })).json()
    expect(stranger).toEqual(
      externalBody('gitlab', accountBody({ iss: stub.url, sub: expect.any(String), email, email_verified: false }), {
        id: anonymous.id,
        email: '',
        new_email: email,
        email_change_sent_at: anyTime,
        new_phone: payload.phone,
        phone_change_sent_at: anyTime,
        is_anonymous: true,
        email_confirmed_at: undefined,
        confirmed_at: undefined,
      }),
    )
    expect(stranger.id).not.toBe(victim?.user.id)
  })

  it('is not confirmed by another address that the stranger verifies later', async () => {
    await signInAs(service, 'keycloak', attacker())
    const mine = `attacker${people}@example.com`
    const session = await signIn('keycloak', attacker({ email: mine, verified: true }))
    expect(session?.user.email).toBe(mine)
    expect((await signIn('gitlab', own))?.id).not.toBe(session?.id)
  })

  it('keeps the address from a stranger whose provider no longer returns it', async () => {
    expect(await refused(signInAs(service, 'keycloak', attacker()))).toBe('provider_email_needs_verification')
    const silent = { sub: `2${people}`, verified: false }
    expect(await refused(signInAs(service, 'keycloak', silent))).toBe('provider_email_needs_verification')
  })

  it('does not sign in to an account to which the stranger has linked the address', async () => {
    const stranger = await createSignedIn(service)
    const { status, fragment } = await comeBackAs(
      service,
      await beginLinking(service, 'gitlab', stranger.headers),
      attacker(),
    )
    expect([status, Boolean(fragment.access_token)]).toEqual([302, true])
    const victim = await signIn('keycloak', own)
    expect(victim?.user).toEqual(
      externalBody('keycloak', accountBody({ iss: stub.url, sub: own.sub, email, custom_claims: { verified: true } })),
    )
    expect(victim?.id).not.toBe(stranger.user.id)
  })

  it('inherits no one-time code of the stranger', async () => {
    await service.post('/otp', { email })
    const { code } = await service.readMail(email)
    const victim = await signIn('keycloak', own)
    expect(victim?.user.email).toBe(email)
    const answer = await service.post('/verify', { type: 'email', email, token: code })
    expect(statusAndBody(answer)).toEqual([403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')])
  })

  it('does not sign in to an account that is known by a phone number', async () => {
    const values = {
      email,
      phone: `1808777${1_000 + people}`,
      email_confirmed_at: null,
      phone_confirmed_at: new Date(),
    }
    const { user } = await createSignedUp(service.deps, values)
    const victim = await signIn('keycloak', own)
    expect(victim?.id).not.toBe(user.id)
    const row = service.deps.db.selectFrom('users').select(['phone', 'email']).where('id', '=', user.id)
    expect(await row.executeTakeFirst()).toEqual({ phone: values.phone, email })
  })
})

describe('an owner whose address a stranger has claimed at a provider that has not verified it', () => {
  /** @returns the token of the mail that confirms the attacker's account */
  const claim = async (): Promise<string> => {
    expect(await refused(signInAs(service, 'gitlab', attacker()))).toBe('provider_email_needs_verification')
    return (await service.readMail(email)).token
  }
  const mailedAfter = async (answer: ReturnType<typeof service.post>): Promise<URL> => {
    expect((await answer).statusCode).toBe(200)
    return (await service.readMail(email)).link
  }
  const linkOf = async (type: 'signup' | 'magiclink' | 'invite'): Promise<URL> => {
    const payload = { type, email, password: 'a password of her own' }
    return new URL((await service.post('/admin/generate_link', payload, OPERATOR)).json().action_link)
  }

  it.each([
    ['signs up', () => mailedAfter(signUp('a password of her own'))],
    ['asks for a link', () => mailedAfter(service.post('/magiclink', { email }))],
    ['asks for a code', () => mailedAfter(service.post('/otp', { email }))],
    ['is invited', () => mailedAfter(service.post('/invite', { email }, OPERATOR))],
    ['is given a link to sign up', () => linkOf('signup')],
    ['is given a magic link', () => linkOf('magiclink')],
    ['is given an invitation', () => linkOf('invite')],
  ])('gets an account of their own when one %s', async (_name, ask) => {
    const token = await claim()
    const { pathname, search } = await ask()
    const dead = await service.post('/verify', { type: 'signup', token_hash: token })
    expect(statusAndBody(dead)).toEqual([403, errorBody(403, 'otp_expired', 'Email link is invalid or has expired')])
    const victim = await whoIs(service.app.inject(`${pathname}${search}`).then(land))
    expect([victim?.user.email, victim?.user.app_metadata]).toEqual([
      email,
      { provider: 'email', providers: ['email'] },
    ])
    expect(await refused(signInAs(service, 'gitlab', attacker()))).toBe('provider_email_needs_verification')
  })

  it('signs in with the password of their own signup', async () => {
    await claim()
    const { pathname, search } = await mailedAfter(signUp('a password of her own'))
    await service.app.inject(`${pathname}${search}`)
    expect(await login('a password of her own')).toBe(200)
  })

  it('gets no link into the account of the stranger, which stays unchanged', async () => {
    const token = await claim()
    expect((await service.post('/recover', { email })).json()).toEqual({})
    expect((await service.post('/otp', { email, create_user: false })).json()).toEqual({})
    await service.idle()
    expect(service.recipients().filter((to) => to === email)).toHaveLength(1)
    const link = await service.post('/admin/generate_link', { type: 'recovery', email }, OPERATOR)
    expect(statusAndBody(link)).toEqual([404, errorBody(404, 'user_not_found', 'User with this email not found')])
    expectSession(
      await service.post('/verify', { type: 'signup', token_hash: token }),
      externalBody('gitlab', accountBody({ iss: stub.url, sub: expect.any(String), email, email_verified: false }), {
        confirmation_sent_at: anyTime,
      }),
      { type: 'signup' },
    )
  })

  it('shares no account with a session of the stranger', async () => {
    const anonymous = (await service.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${anonymous.access_token}` }
    await comeBackAs(service, await beginLinking(service, 'gitlab', headers), attacker())
    await service.readMail(email)
    const { pathname, search } = await mailedAfter(signUp('a password of her own'))
    const victim = await whoIs(service.app.inject(`${pathname}${search}`).then(land))
    expect(victim?.user).toEqual(
      userBody({
        email,
        email_confirmed_at: anyTime,
        confirmation_sent_at: anyTime,
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { role: 'mole' },
        identities: [emailIdentity(anyId, email, { role: 'mole', email_verified: true })],
      }),
    )
    const stranger = (await service.app.inject({ url: '/user', headers })).json()
    expect(stranger).toEqual(
      externalBody('gitlab', accountBody({ iss: stub.url, sub: expect.any(String), email, email_verified: false }), {
        id: anonymous.id,
        email: '',
        new_email: email,
        email_change_sent_at: anyTime,
        is_anonymous: true,
        email_confirmed_at: undefined,
        confirmed_at: undefined,
      }),
    )
    expect(stranger.id).not.toBe(victim?.id)
  })
})

const STATE_UNKNOWN = {
  error: 'invalid_request',
  error_code: 'bad_oauth_state',
  error_description: 'OAuth state not found or expired',
}

describe('a flow', () => {
  // ASVS 10.2.1
  it('ends once: refuses a second browser with the same state', async () => {
    const state = await begin(service, 'keycloak')
    expect((await comeBackAs(service, state, own)).fragment).toEqual(landedBody('keycloak'))
    const { status, query } = await comeBackAs(service, state, attacker({ email: 'x@example.com', verified: true }))
    expect([status, query]).toEqual([303, STATE_UNKNOWN])
  })

  // ASVS 10.1.2, 10.4.2
  it('refuses its code without the verifier', async () => {
    const state = await begin(service, 'keycloak', { code_challenge: 'c'.repeat(43), code_challenge_method: 's256' })
    const { query } = await comeBackAs(service, state, own)
    const payload = { auth_code: query.code, code_verifier: 'guess'.repeat(10) }
    const answer = await service.post('/token?grant_type=pkce', payload)
    expect(statusAndBody(answer)).toEqual([
      400,
      grantErrorBody(
        'invalid_grant',
        'bad_code_verifier',
        'code challenge does not match previously saved code verifier',
      ),
    ])
  })

  it('that links an identity ends with the session that began it', async () => {
    const signedIn = await createSignedIn(service)
    const state = await beginLinking(service, 'keycloak', signedIn.headers)
    await service.app.inject({ method: 'POST', url: '/logout', headers: signedIn.headers })
    const { query } = await comeBackAs(service, state, attacker({ email: 'x@example.com', verified: true }))
    expect(query).toEqual(STATE_UNKNOWN)
  })

  // ASVS 8.2.2
  it('links no identity of another user, and none for a target from the request', async () => {
    const victim = await signIn('keycloak', own)
    const stranger = await createSignedIn(service)
    const linking = await beginLinking(service, 'keycloak', stranger.headers)
    expect(await refused(comeBackAs(service, linking, own))).toBe('identity_already_exists')
    const named = { linking_target_id: String(victim?.id), user_id: String(victim?.id), state: 'x' }
    const session = await whoIs(
      comeBackAs(
        service,
        await begin(service, 'gitlab', named),
        attacker({ email: `y${people}@example.com`, verified: true }),
      ),
    )
    expect(session?.id).not.toBe(victim?.id)
  })

  it('accepts an invitation only for the invited user, and keeps it otherwise', async () => {
    await service.post('/invite', { email }, OPERATOR)
    const { token } = await service.readMail(email)
    const accept = async (account: Anybody) =>
      comeBackAs(service, await begin(service, 'keycloak', { invite_token: token }), account)
    const stranger = attacker({ email: 'somebody.else@example.com', verified: true })
    const { query } = await accept(stranger)
    expect(query.error_description).toBe('Invited email does not match emails from external provider')
    const invited = await whoIs(accept({ ...own, verified: false }))
    expect(invited?.user).toEqual(
      externalBody(
        'keycloak',
        accountBody({ iss: stub.url, sub: own.sub, email, custom_claims: { verified: false }, email_verified: false }),
        { invited_at: anyTime, confirmation_sent_at: anyTime },
      ),
    )
    const again = await service.app.inject(`/authorize?provider=keycloak&invite_token=${token}`)
    expect(statusAndBody(again)).toEqual([404, errorBody(404, 'user_not_found', 'User not found')])
  })

  it('never sends its session to a redirect that is not permitted', async () => {
    const state = await begin(service, 'keycloak', { redirect_to: 'https://evil.example/' })
    // Only permitted redirects are stored, so later steps do not check them again.
    const flow = await service.deps.db.selectFrom('flow_state').select('redirect_to').where('id', '=', state).execute()
    expect(flow).toEqual([{ redirect_to: 'http://localhost:3000' }])
    const { url, fragment } = await comeBackAs(service, state, own)
    expect([url.origin, fragment]).toEqual(['http://localhost:3000', landedBody('keycloak')])
  })
})

describe('an email that a provider brings, in the profile supabase', () => {
  it('is called verified in user_metadata once it is confirmed, by autoconfirm or by linking', async () => {
    const supabase = await openBeside(service, {
      ...stub.settings,
      AUTH_PROFILE: 'supabase',
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    })
    const { fragment } = await signInAs(supabase, 'keycloak', attacker())
    const created = claimsOf(fragment.access_token ?? '').user_metadata
    const anonymous = (await supabase.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${anonymous.access_token}` }
    const another = { ...own, email: `linked${people}@example.com` }
    await comeBackAs(supabase, await beginLinking(supabase, 'keycloak', headers), another)
    const linked = (await supabase.app.inject({ url: '/user', headers })).json()
    const data = accountBody({ iss: stub.url, sub: attacker().sub, email, custom_claims: { verified: false } })
    expect([created, linked.email, linked.user_metadata]).toEqual([data, another.email, { email_verified: true }])
    await supabase.close()
  })
})
