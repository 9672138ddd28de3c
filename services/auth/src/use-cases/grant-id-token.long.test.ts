import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addApp } from '../../test/authenticator-app.ts'
import {
  accountBody,
  anyId,
  anyJwt,
  anyTime,
  emailIdentity,
  externalBody,
  factorBody,
  fragmentBody,
  grantErrorBody,
  identityBody,
  sessionBody,
  signedUpBody,
  statusAndBody,
  userBody,
} from '../../test/bodies.ts'
import { land } from '../../test/external/external-app.ts'
import { type OpenIdServer, startOpenIdServer } from '../../test/external/openid-server.ts'
import { attackerKey, forge, hmac, signWith } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, signIn as signInByPassword } from '../../test/signed-in.ts'
import { createSignedUp } from '../../test/signed-up.ts'

/** The settings of an enabled provider. */
const client = (name: string, id: string) => ({
  [`AUTH_EXTERNAL_${name}_ENABLED`]: 'true',
  [`AUTH_EXTERNAL_${name}_CLIENT_ID`]: id,
  [`AUTH_EXTERNAL_${name}_SECRET`]: 'secret',
  [`AUTH_EXTERNAL_${name}_REDIRECT_URI`]: 'http://localhost:8081/callback',
})

let openId: OpenIdServer
let service: MailApp
beforeAll(async () => {
  openId = await startOpenIdServer()
  service = await openMailApp(
    {
      ...client('KEYCLOAK', 'realm-client'),
      ...client('GOOGLE', 'web.apps.example,ios.apps.example'),
      ...client('APPLE', 'apple-client'),
      ...client('AZURE', 'azure-client'),
      ...client('FACEBOOK', 'facebook-client'),
      ...client('SNAPCHAT', 'snapchat-client'),
      ...client('GITHUB', 'github-client'),
      AUTH_EXTERNAL_IOS_BUNDLE_ID: 'com.example.app',
      AUTH_EXTERNAL_SNAPCHAT_EMAIL_OPTIONAL: 'true',
      AUTH_EXTERNAL_KEYCLOAK_URL: `${openId.realm}/`,
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    },
    { replace: openId.replace },
  )
})
afterAll(async () => {
  await service.close()
  await openId.stop()
})

let people = 0
let email = ''
beforeEach(() => {
  people += 1
  email = `openid${people}@example.com`
})

/** Signs in like a browser, up to the last redirect. */
async function signIn(provider: string, query: Readonly<Record<string, string>> = {}) {
  const started = await service.app.inject(`/authorize?${new URLSearchParams({ provider, ...query })}`)
  const { pathname, search } = await openId.agree(new URL(String(started.headers.location)))
  return land(await service.app.inject(`${pathname}${search}`))
}

const grant = async (payload: object, headers: Record<string, string> = {}) => {
  const answer = await service.post('/token?grant_type=id_token', payload, headers)
  return { status: answer.statusCode, body: answer.json() }
}

/** Claims of a valid Google token. */
const google = (changes: Readonly<Record<string, unknown>> = {}) => ({
  iss: 'https://accounts.google.com',
  aud: 'web.apps.example',
  sub: `google-${people}`,
  email,
  email_verified: true,
  name: 'Ada',
  ...changes,
})
/** Returns a request that links the account of this token. */
const linkBody = async () => ({ provider: 'google', id_token: await openId.sign(google()), link_identity: true })
const refused = (status: number, code: string, text: string, error = 'invalid_request') => ({
  status,
  body: grantErrorBody(error, code, text, status),
})
const refusedWith = (text: string) => refused(400, 'validation_failed', text)
const unverified = (provider: string) => {
  const text = `Unverified email with ${provider}. A confirmation email has been sent to your ${provider} email`
  return refused(422, 'provider_email_needs_verification', text)
}

/** The data of the newest identity at Google. */
const googleAccount = () => {
  const { iss, sub, name } = google()
  return accountBody({ iss, sub, name, email, full_name: name })
}

describe('keycloak', () => {
  it('signs in with PKCE, an id_token and a profile, in both flows', async () => {
    openId.account = {
      sub: randomUUID(),
      email,
      email_verified: true,
      name: 'Ada',
      groups: ['/staff'],
      iss: openId.realm,
    }
    const implicit = await signIn('keycloak', { scopes: 'openid,roles' })
    const tokens = { provider_token: expect.stringMatching(/^ey/), provider_refresh_token: anyId }
    expect(implicit.fragment).toEqual(fragmentBody('keycloak', tokens))
    const verifier = 'v'.repeat(64)
    const codeChallenge = createHash('sha256').update(verifier).digest('base64url')
    const { query } = await signIn('keycloak', { code_challenge: codeChallenge, code_challenge_method: 'S256' })
    const exchange = { auth_code: query.code, code_verifier: verifier }
    const session = (await service.post('/token?grant_type=pkce', exchange)).json()
    expect(session).toEqual(
      sessionBody(
        externalBody(
          'keycloak',
          accountBody({
            iss: openId.realm,
            sub: openId.account.sub,
            name: 'Ada',
            email,
            full_name: 'Ada',
            custom_claims: { iss: openId.realm, groups: ['/staff'] },
          }),
        ),
        { provider_token: expect.stringMatching(/^ey/), provider_refresh_token: anyId },
      ),
    )
    expect(session.user.identities).toHaveLength(1)
    expect(session.user.user_metadata.custom_claims).toEqual({ iss: openId.realm, groups: ['/staff'] })
  })

  it('accepts an id_token of its realm only', async () => {
    const claims = { aud: 'realm-client', sub: randomUUID(), email, email_verified: true }
    const good = await grant({ provider: 'keycloak', id_token: await openId.sign(claims) })
    expect(good).toEqual({
      status: 200,
      body: sessionBody(
        externalBody(
          'keycloak',
          accountBody({ iss: openId.realm, sub: claims.sub, email, custom_claims: { nbf: expect.any(Number) } }),
        ),
      ),
    })
    const other = await openId.sign({ ...claims, iss: `${openId.realm}/realms/other` })
    expect(await grant({ provider: 'keycloak', id_token: other })).toEqual(refusedWith('Bad ID token'))
  })

  // ASVS 9.2.2
  it('refuses an access token of its realm for the same client', async () => {
    const claims = { aud: 'realm-client', sub: randomUUID(), email, email_verified: true }
    for (const token of [
      await openId.sign({ ...claims, typ: 'Bearer' }),
      await openId.sign(claims, { typ: 'at+jwt' }),
      await openId.sign(claims, { typ: 'application/logout+JWT' }),
    ]) {
      expect(await grant({ provider: 'keycloak', id_token: token })).toEqual(refusedWith('Bad ID token'))
    }
    expect((await grant({ provider: 'keycloak', id_token: await openId.sign({ ...claims, typ: 'ID' }) })).status).toBe(
      200,
    )
  })
})

describe('google', () => {
  it('signs in by the id_token that comes with the code', async () => {
    openId.account = google()
    const { fragment } = await signIn('google', { access_type: 'offline', prompt: 'consent' })
    const tokens = { provider_token: anyJwt, provider_refresh_token: expect.any(String) }
    expect(fragment).toEqual(fragmentBody('google', tokens))
    // The profile is read only if there is no id_token.
    expect(openId.called).toContain('www.googleapis.com/oauth2/v3/certs')
    expect(openId.called).not.toContain('www.googleapis.com/userinfo/v2/me')
  })

  // ASVS 10.5.4
  it('refuses an id_token of another audience or issuer that comes with a code', async () => {
    for (const changes of [{ aud: 'somebody.else' }, { iss: 'https://evil.example' }, { exp: 1 }]) {
      openId.account = google(changes)
      const { query } = await signIn('google')
      expect(query.error_description).toBe('Error getting user profile from external provider')
    }
  })
})

describe('POST /token, grant id_token', () => {
  // ASVS 10.5.1
  it('200: accepts a token for each configured client, with its nonce and access token', async () => {
    const nonce = 'a nonce of the app'
    const accessToken = 'an access token'
    const digest = createHash('sha256').update(accessToken).digest()
    const id_token = await openId.sign(
      google({
        aud: 'ios.apps.example',
        nonce: createHash('sha256').update(nonce).digest('hex'),
        at_hash: digest.subarray(0, 16).toString('base64url'),
      }),
    )
    const request = { provider: 'google', id_token, nonce, access_token: accessToken }
    const session = sessionBody(externalBody('google', googleAccount()))
    expect(await grant(request)).toEqual({ status: 200, body: session })
    expect(await grant({ ...request, access_token: 'another' })).toEqual(refusedWith('Bad ID token'))
    expect(await grant({ ...request, nonce: 'another' })).toEqual(refusedWith('Nonces mismatch'))
    const either = 'Passed nonce and nonce in id_token should either both exist or not.'
    expect(await grant({ ...request, nonce: '' })).toEqual(refusedWith(either))
    const without = await openId.sign(google())
    expect(await grant({ ...request, id_token: without })).toEqual(refusedWith(either))
  })

  it('200: accepts an issuer in place of a provider name for a configured client', async () => {
    const id_token = await openId.sign(google())
    const request = { issuer: 'https://accounts.google.com', client_id: 'web.apps.example', id_token }
    expect((await grant(request)).body.user).toEqual(externalBody('google', googleAccount()))
    const theirs = await openId.sign(google({ aud: 'evil.apps.example' }))
    const disabled = (issuer: string) =>
      refused(400, 'provider_disabled', `Provider (issuer "${issuer}") is not enabled`, 'unauthorized_client')
    const evil = { ...request, client_id: 'evil.apps.example', id_token: theirs }
    expect(await grant(evil)).toEqual(disabled(request.issuer))
    expect(await grant({ ...request, client_id: 'ios.apps.example' })).toEqual(
      refusedWith('Unacceptable audience in id_token'),
    )
    const realm = { ...request, issuer: openId.realm, client_id: 'realm-client' }
    expect(await grant(realm)).toEqual(disabled(openId.realm))
  })

  // ASVS 10.5.4
  it('400: refuses a token of another audience, an expired token, another issuer and no token', async () => {
    const attempt = async (id_token: string) => grant({ provider: 'google', id_token })
    const foreign = refusedWith('Unacceptable audience in id_token')
    expect(await attempt(await openId.sign(google({ aud: 'evil.apps.example' })))).toEqual(foreign)
    expect(await attempt(await openId.sign(google({ aud: ['evil.apps.example'] })))).toEqual(foreign)
    const bad = refusedWith('Bad ID token')
    expect(await attempt(await openId.sign(google({ exp: 1 })))).toEqual(bad)
    expect(await attempt(await openId.sign(google({ iss: 'https://accounts.google.com.evil.example' })))).toEqual(bad)
    expect(await attempt(await openId.sign(google({ sub: '' })))).toEqual(bad)
    expect(await attempt('no token')).toEqual(bad)
    expect(await attempt('a.b.c')).toEqual(bad)
  })

  // ASVS 6.8.2, 9.1.1
  it('400: refuses a token that the provider has not signed', async () => {
    const times = { iat: Math.floor(Date.now() / 1_000), exp: Math.floor(Date.now() / 1_000) + 600 }
    const claims = { ...google(), ...times }
    const { key } = attackerKey('rsa')
    const [header = ''] = (await openId.sign(google())).split('.')
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
    for (const forged of [
      forge({ alg: 'RS256', kid }, claims, signWith(key, 'sha256')),
      forge({ alg: 'RS256', kid: 'mine' }, claims, signWith(key, 'sha256')),
      forge({ alg: 'none' }, claims, () => ''),
      forge({ alg: 'HS256', kid }, claims, hmac('web.apps.example')),
      forge({ alg: 'HS256', kid }, claims, hmac('secret')),
    ]) {
      expect(await grant({ provider: 'google', id_token: forged })).toEqual(refusedWith('Bad ID token'))
    }
    expect(await service.deps.db.selectFrom('users').select('id').where('email', '=', email).execute()).toEqual([])
  })

  it('400: refuses an account of Google without an address', async () => {
    const id_token = await openId.sign(google({ email: undefined }))
    const refusal = refusedWith('Error getting user email from external provider')
    expect(await grant({ provider: 'google', id_token })).toEqual(refusal)
  })

  it('200: links the identity to the user of the access token', async () => {
    const signedIn = await createSignedIn(service)
    const linked = await grant(await linkBody(), signedIn.headers)
    expect(linked.body.user).toEqual(
      userBody({
        id: signedIn.user.id,
        email: signedIn.email,
        email_confirmed_at: anyTime,
        confirmation_sent_at: anyTime,
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        app_metadata: { provider: 'email', providers: ['email', 'google'] },
        user_metadata: googleAccount(),
        identities: [
          emailIdentity(signedIn.user.id, signedIn.email, { email_verified: true }),
          identityBody({
            id: expect.any(String),
            user_id: signedIn.user.id,
            identity_data: googleAccount(),
            provider: 'google',
            email,
          }),
        ],
      }),
    )
  })

  it('422: refuses to link an identity that its user has already', async () => {
    const signedIn = await createSignedIn(service)
    const link = await linkBody()
    await grant(link, signedIn.headers)
    const repeated = refused(422, 'identity_already_exists', 'Identity is already linked')
    expect(await grant(link, signedIn.headers)).toEqual(repeated)
  })

  it('401: refuses to link an identity without an access token', async () => {
    expect(await grant(await linkBody())).toEqual(
      refused(401, 'no_authorization', 'This endpoint requires a valid Bearer token'),
    )
  })

  it('403: refuses to link an identity to the user of an ended session', async () => {
    const signedIn = await createSignedIn(service)
    await service.post('/logout', {}, signedIn.headers)
    const link = await linkBody()
    const text = 'Session from session_id claim in JWT does not exist'
    expect(await grant(link, signedIn.headers)).toEqual(refused(403, 'session_not_found', text, 'invalid_grant'))
  })

  it('403: refuses to link an address before the second factor is verified when the user has no email', async () => {
    const signedIn = await createSignedIn(service)
    await addApp({ ...service, clock: { now: service.deps.now, advance: () => {} } }, signedIn.headers)
    const { headers } = await signInByPassword(service, signedIn)
    const phoneOnly = { email: null, phone: '14155550133', phone_confirmed_at: new Date() }
    await service.deps.db.updateTable('users').set(phoneOnly).where('id', '=', signedIn.user.id).execute()
    const link = await linkBody()
    const text = 'AAL2 session is required to manage identities when MFA is enabled'
    expect(await grant(link, headers)).toEqual(refused(403, 'insufficient_aal', text))
    const { json } = await service.app.inject({ url: '/user', headers })
    expect(json()).toEqual(
      signedUpBody(signedIn, {
        email: '',
        phone: phoneOnly.phone,
        phone_confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        factors: [factorBody({ last_challenged_at: anyTime })],
      }),
    )
  })

  const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47'
  it.each([
    ['apple', { iss: 'https://account.apple.com', aud: 'com.example.app', is_private_email: 'false' }],
    ['azure', { iss: `https://login.microsoftonline.com/${TENANT}/v2.0`, aud: 'azure-client', xms_edov: true }],
    ['azure', { iss: `https://sts.windows.net/${TENANT}/`, aud: 'azure-client' }],
    // An app that compares the nonce itself sends a token with a nonce.
    ['facebook', { iss: 'https://www.facebook.com', aud: 'facebook-client', nonce: 'of the app' }],
    ['snapchat', { iss: 'https://accounts.snapchat.com/accounts/oauth2/token', aud: 'snapchat-client' }],
  ])('200: accepts a token of %s: %o', async (provider, claims) => {
    const id_token = await openId.sign({ sub: `${provider}-${people}`, email, name: 'Ada', ...claims })
    const { status, body } = await grant({ provider, id_token })
    const data = { ...body.user.user_metadata, iss: claims.iss, sub: `${provider}-${people}`, email }
    expect({ status, user: body.user }).toEqual({ status: 200, user: externalBody(provider, accountBody(data)) })
  })

  it.each([
    ['the text "false"', 'false', 422],
    ['false', false, 422],
    ['nothing', null, 422],
    ['the text "true"', 'true', 200],
    ['true', true, 200],
  ])('reads the verification of an address from %s, as Apple writes it', async (_name, verified, status) => {
    const { user } = await createSignedUp(service.deps, { email })
    const claims = { iss: 'https://appleid.apple.com', aud: 'apple-client', sub: `apple-${people}`, email }
    const id_token = await openId.sign({ ...claims, email_verified: verified })
    const text = 'Unverified email with apple. A confirmation email has been sent to your apple email'
    const refused = grantErrorBody('invalid_request', 'provider_email_needs_verification', text, 422)
    const data = accountBody({ iss: claims.iss, sub: claims.sub, email })
    const external = identityBody({ id: claims.sub, identity_data: data, provider: 'apple', email })
    const own = emailIdentity(user.id, expect.stringMatching(/^signed-up-/), { email_verified: true })
    const app_metadata = { provider: 'email', providers: ['email', 'apple'] }
    const linkedTo = { app_metadata, user_metadata: { name: 'Ann', ...data }, identities: [own, external] }
    const session = sessionBody(signedUpBody({ user, email }, linkedTo))
    expect(await grant({ provider: 'apple', id_token })).toEqual({ status, body: status === 422 ? refused : session })
    const identities = service.deps.db.selectFrom('identities').select('provider').where('user_id', '=', user.id)
    const linked = status === 200 ? [{ provider: 'apple' }] : []
    expect(await identities.orderBy('created_at').execute()).toEqual([{ provider: 'email' }, ...linked])
  })

  it('400: refuses the token of an issuer that only begins like the issuer of Azure', async () => {
    const iss = 'https://login.microsoftonline.com/../evil/v2.0'
    const id_token = await openId.sign({ sub: `a-${people}`, email, aud: 'azure-client', iss })
    expect(await grant({ provider: 'azure', id_token })).toEqual(refusedWith('Bad ID token'))
  })

  it.each([
    ['google', { aud: 'web.apps.example', iss: 'https://accounts.google.com', email_verified: false }],
    // An admin of any tenant can set any address.
    ['azure', { aud: 'azure-client', iss: `https://login.microsoftonline.com/${TENANT}/v2.0`, xms_edov: false }],
  ])('422: refuses an unverified address of %s, and links nothing', async (provider, claims) => {
    const { user } = await createSignedUp(service.deps, { email })
    const id_token = await openId.sign({ sub: `u-${people}`, email, ...claims })
    expect(await grant({ provider, id_token })).toEqual(unverified(provider))
    const identities = service.deps.db.selectFrom('identities').select('provider').where('user_id', '=', user.id)
    expect(await identities.execute()).toEqual([{ provider: 'email' }])
  })

  it('400: refuses GitHub, which signs no id_tokens', async () => {
    const answer = await grant({ provider: 'github', id_token: await openId.sign({ sub: 'any' }) })
    expect(answer).toEqual(refusedWith('Provider github cannot be used with the id_token grant'))
  })

  it('200: accepts an account without an address when the setting permits it', async () => {
    const claims = { iss: 'https://accounts.snapchat.com/accounts/oauth2/token', aud: 'snapchat-client', sub: email }
    const first = await grant({ provider: 'snapchat', id_token: await openId.sign(claims) })
    const again = await grant({ provider: 'snapchat', id_token: await openId.sign(claims) })
    expect(first.body.user).toEqual(
      userBody({
        id: again.body.user.id,
        last_sign_in_at: anyTime,
        app_metadata: { provider: 'snapchat', providers: ['snapchat'] },
        user_metadata: {
          iss: 'https://accounts.snapchat.com/accounts/oauth2/token',
          sub: email,
          provider_id: email,
          phone_verified: false,
        },
        identities: [
          identityBody({
            id: email,
            user_id: again.body.user.id,
            identity_data: {
              iss: 'https://accounts.snapchat.com/accounts/oauth2/token',
              sub: email,
              provider_id: email,
              phone_verified: false,
            },
            provider: 'snapchat',
          }),
        ],
      }),
    )
    expect(again.body.user.id).toBe(first.body.user.id)
  })

  const openStrict = (settings: Readonly<Record<string, string>>) =>
    openMailApp(
      { ...settings, AUTH_PROFILE: 'strict', AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip' },
      { replace: openId.replace },
    )

  // ASVS 6.8.1
  it('422: refuses an address of Azure without proof of its domain in the strict profile', async () => {
    const strict = await openStrict(client('AZURE', 'azure-client'))
    const { user } = await createSignedUp(strict.deps, { email })
    const nonce = 'a nonce of the app'
    const claims = { sub: `a-${people}`, iss: `https://login.microsoftonline.com/${TENANT}/v2.0`, aud: 'azure-client' }
    const post = async (changes: object) => {
      const claim = createHash('sha256').update(nonce).digest('hex')
      const id_token = await openId.sign({ ...claims, email, nonce: claim, ...changes })
      return (await strict.post('/token?grant_type=id_token', { provider: 'azure', id_token, nonce })).json()
    }
    expect(await post({})).toEqual(unverified('azure').body)
    expect((await post({ sub: `b-${people}`, xms_edov: true })).user.id).toBe(user.id)
    await strict.close()
  })

  // ASVS 10.5.1
  it('400: refuses a token without a nonce in the strict profile, for every provider', async () => {
    const strict = await openStrict({
      ...client('GOOGLE', 'web.apps.example'),
      ...client('FACEBOOK', 'facebook-client'),
    })
    const facebook = { iss: 'https://www.facebook.com', aud: 'facebook-client', sub: `f-${people}`, email }
    const nonce = 'a nonce of the app'
    const claim = { nonce: createHash('sha256').update(nonce).digest('hex') }
    for (const [provider, claims] of Object.entries({ google: google(), facebook })) {
      const sign = (changes: object) => openId.sign({ ...claims, ...changes })
      const post = async (payload: object) =>
        (await strict.post('/token?grant_type=id_token', { provider, ...payload })).json()
      const without = 'Only id_tokens with a nonce are taken: send the one that it was asked for with'
      expect(await post({ id_token: await sign({}) })).toEqual(refusedWith(without).body)
      expect(await post({ id_token: await sign(claim) })).toEqual(refusedWith(without).body)
      expect(await post({ id_token: await sign({ nonce: 'another' }), nonce })).toEqual(
        refusedWith('Nonces mismatch').body,
      )
      expect((await post({ id_token: await sign(claim), nonce })).user.email).toBe(email)
    }
    await strict.close()
  })

  // ASVS 16.5.2, 16.5.3
  it('503: fails while the keys of the provider cannot be fetched', async () => {
    const settings = { ...client('KEYCLOAK', 'realm-client'), AUTH_EXTERNAL_KEYCLOAK_URL: 'http://127.0.0.1:1' }
    const blind = await openMailApp(settings, { replace: () => ({ now: () => new Date() }) })
    const id_token = await openId.sign({ iss: 'http://127.0.0.1:1', aud: 'realm-client', sub: 'x', email })
    const answer = await blind.post('/token?grant_type=id_token', { provider: 'keycloak', id_token })
    const text = 'The service is not available for the moment, please retry'
    const body = { ...grantErrorBody('server_error', 'service_unavailable', text, 503), error_id: anyId }
    expect([...statusAndBody(answer), answer.headers['retry-after']]).toEqual([503, body, '1'])
    await blind.close()
  })
})
