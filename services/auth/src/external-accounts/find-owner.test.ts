import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimsOf } from '../../test/authenticator-app.ts'
import {
  accountBody,
  amrEntry,
  anyTime,
  claimsBody,
  emailIdentity,
  externalBody,
  grantErrorBody,
  statusAndBody,
  userBody,
} from '../../test/bodies.ts'
import {
  type Anybody,
  type AnybodyStub,
  beginLinking,
  comeBackAs,
  signInAs,
  startAnybodyProvider,
} from '../../test/external/anybody-provider.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'

/** The redirect of a flow whose address must be confirmed by a mail. */
const MAILED = {
  error: 'server_error',
  error_code: 'email_not_confirmed',
  error_description: 'Unverified email with gitlab. A confirmation email has been sent to your gitlab email',
  sb: '',
}
let service: MailApp
let stub: AnybodyStub
beforeAll(async () => {
  stub = await startAnybodyProvider()
  service = await openMailApp({
    ...stub.settings,
    AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true',
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  })
})
afterAll(async () => {
  await service.close()
  await stub.close()
})

let people = 0
let email = ''
let account: Anybody
beforeEach(() => {
  people += 1
  email = `early${people}@example.com`
  account = { sub: `1${people}`, email, verified: false }
})

/** Signs in and reads the user. */
async function signIn(provider: 'keycloak' | 'gitlab', who: Anybody) {
  const { fragment } = await signInAs(service, provider, who)
  const headers = { authorization: `Bearer ${fragment.access_token}` }
  return {
    headers,
    refreshToken: fragment.refresh_token,
    user: (await service.app.inject({ url: '/user', headers })).json(),
  }
}

describe('with MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS, an address that no provider has verified', () => {
  it('signs in before a mail confirms it, again and again', async () => {
    const first = await signIn('gitlab', account)
    // The user record contains the time of the mail as soon as the mail is sent.
    const { link } = await service.readMail(email)
    await service.idle()
    const data = accountBody({ iss: stub.url, sub: account.sub, email, email_verified: false })
    const members = { id: first.user.id, confirmation_sent_at: anyTime }
    const again = await signIn('gitlab', account)
    const unconfirmed = { ...members, email_confirmed_at: undefined, confirmed_at: undefined }
    expect(again.user).toEqual(externalBody('gitlab', data, unconfirmed))
    await service.app.inject(`${link.pathname}${link.search}`)
    expect((await signIn('gitlab', account)).user).toEqual(externalBody('gitlab', data, members))
    await service.idle()
    expect(service.recipients().filter((to) => to === email)).toHaveLength(1)
  })

  it('signs in to no account of another user and sends that user nothing', async () => {
    const { user: owner } = await createSignedUp(service.deps, { email })
    const { user } = await signIn('gitlab', account)
    expect(user).toEqual(
      externalBody('gitlab', accountBody({ iss: stub.url, sub: account.sub, email, email_verified: false }), {
        email: '',
        email_confirmed_at: undefined,
        confirmed_at: undefined,
      }),
    )
    expect(user.id).not.toBe(owner.id)
    await service.idle()
    expect(service.recipients()).not.toContain(email)
  })

  it('passes to its owner, who inherits nothing of the stranger', async () => {
    const stranger = await signIn('gitlab', account)
    await service.idle()
    const own = await signIn('keycloak', { sub: `2${people}`, email, verified: true })
    expect(own.user).toEqual(
      externalBody(
        'keycloak',
        accountBody({ iss: stub.url, sub: expect.any(String), email, custom_claims: { verified: true } }),
        { id: stranger.user.id, confirmation_sent_at: anyTime },
      ),
    )
    const refresh = { refresh_token: stranger.refreshToken }
    const answer = await service.post('/token?grant_type=refresh_token', refresh)
    expect(statusAndBody(answer)).toEqual([
      400,
      grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    ])
    expect((await signIn('gitlab', account)).user.id).not.toBe(own.user.id)
  })

  it('must still be confirmed when linking makes it the address of an account', async () => {
    const anonymous = (await service.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${anonymous.access_token}` }
    const { fragment } = await comeBackAs(service, await beginLinking(service, 'gitlab', headers), account)
    expect(fragment).toEqual(MAILED)
    // The identity is linked, but its address is in neither the user record nor the token.
    const before = (await service.app.inject({ url: '/user', headers })).json()
    expect(before).toEqual(
      externalBody('gitlab', accountBody({ iss: stub.url, sub: account.sub, email, email_verified: false }), {
        id: anonymous.id,
        email: '',
        new_email: email,
        email_change_sent_at: anyTime,
        is_anonymous: true,
        email_confirmed_at: undefined,
        confirmed_at: undefined,
      }),
    )
    const refreshed = await service.post('/token?grant_type=refresh_token', { refresh_token: anonymous.refresh_token })
    expect(claimsOf(refreshed.json().access_token)).toEqual(
      claimsBody({
        sub: before.id,
        app_metadata: { provider: 'gitlab', providers: ['gitlab'] },
        user_metadata: accountBody({ iss: stub.url, sub: account.sub, email, email_verified: false }),
        amr: [amrEntry('anonymous')],
        is_anonymous: true,
      }),
    )
    const { link } = await service.readMail(email)
    await service.app.inject(`${link.pathname}${link.search}`)
    const after = (await service.app.inject({ url: '/user', headers })).json()
    expect(after).toEqual(
      userBody({
        id: before.id,
        email,
        email_confirmed_at: expect.any(String),
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        // The owner of the address gets the account without any way in for another person.
        app_metadata: { provider: 'email', providers: ['email'] },
        user_metadata: {},
        identities: [emailIdentity(before.id, email, { email_verified: true })],
      }),
    )
  })

  it('is not revealed as taken by linking, and its owner is sent nothing', async () => {
    await createSignedUp(service.deps, { email })
    const anonymous = (await service.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${anonymous.access_token}` }
    const { fragment } = await comeBackAs(service, await beginLinking(service, 'gitlab', headers), account)
    expect(fragment).toEqual(MAILED)
    await service.idle()
    expect(service.recipients()).not.toContain(email)
  })
})
