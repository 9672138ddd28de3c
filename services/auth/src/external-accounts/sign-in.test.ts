import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  accountBody,
  anyTime,
  externalBody,
  identityBody,
  phoneIdentity,
  statusAndBody,
  wrongPassword,
} from '../../test/bodies.ts'
import {
  type AnybodyStub,
  begin,
  comeBackAs,
  landedBody,
  startAnybodyProvider,
} from '../../test/external/anybody-provider.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { judgeConfirmation } from './sign-in.ts'

const open = { isUnclaimed: true, hasVerifiedFactor: false }
const claimed = { isUnclaimed: false, hasVerifiedFactor: false }
const guarded = { isUnclaimed: false, hasVerifiedFactor: true }
const later = '2026-01-02T03:04:05.000000+00:00'

const user = { email: 'ann@example.com', invitedAt: null }
const own = { user, isFirstAddress: false, credentialSince: null }
const added = { ...own, credentialSince: later }
const withoutEmail = { ...own, user: { ...user, email: null } }
const invited = { ...own, user: { ...user, invitedAt: later } }
const accountEmail = { email: 'ann@example.com', isVerified: true }
const other = { email: 'ann@example.org', isVerified: true }

describe('judgeConfirmation', () => {
  it.each([
    ['an unclaimed account with the same email', own, accountEmail, open],
    ['an unclaimed account with another email', own, other, open],
    ['an unclaimed account whose provider gives no email', own, undefined, open],
    ['an account whose user was invited by another email', invited, other, open],
    [
      'an account whose user was invited, for an unverified email',
      invited,
      { ...accountEmail, isVerified: false },
      open,
    ],
    [
      'an account without an email whose user was invited, for no email',
      { ...invited, user: { ...invited.user, email: null } },
      undefined,
      open,
    ],
    ['an unclaimed account to which the identity was added later', added, accountEmail, open],
    ['an unclaimed account with a second factor', added, other, { ...open, hasVerifiedFactor: true }],
    [
      'an unclaimed account without an email whose identity has accountEmail one before',
      withoutEmail,
      accountEmail,
      open,
    ],
    [
      'an unclaimed account with an email whose identity gives one for the first time',
      { ...own, isFirstAddress: true },
      accountEmail,
      open,
    ],
  ])('takes over %s', (_account, owner, email, protection) => {
    expect(judgeConfirmation(owner, email, protection)).toBe('take-over')
  })

  it.each([
    ['signs in for the first time', invited],
    ['has linked the account at the provider later', { ...invited, credentialSince: later }],
  ])('accepts for an invited user with the invited email, who %s', (_user, owner) => {
    expect(judgeConfirmation(owner, accountEmail, open)).toBe('accept')
  })

  it.each([
    ['another email, for an identity that was added later', added, other],
    ['no email, for an identity that was added later', added, undefined],
    [
      'a first email, for an identity that was added later',
      { ...added, user: withoutEmail.user, isFirstAddress: true },
      accountEmail,
    ],
  ])('keeps the email of a claimed account with a second factor against %s', (_email, owner, email) => {
    expect(judgeConfirmation(owner, email, guarded)).toBe('keep-email')
  })

  it.each([
    ['a claimed account with the same email', own, accountEmail, claimed],
    ['a claimed account with another email', own, other, claimed],
    ['a claimed account whose user was invited', invited, accountEmail, claimed],
    ['a claimed account to which the identity was added later', added, other, claimed],
    ['an account with a second factor that has the email already', added, accountEmail, guarded],
    ['an account with a second factor that began with the identity', own, other, guarded],
    [
      'an unclaimed account without an email whose provider gives a first one',
      { ...withoutEmail, isFirstAddress: true },
      accountEmail,
      open,
    ],
  ])('confirms %s, which keeps everything', (_account, owner, email, protection) => {
    expect(judgeConfirmation(owner, email, protection)).toBe('confirm')
  })
})

let service: MailApp
let stub: AnybodyStub
beforeAll(async () => {
  stub = await startAnybodyProvider()
  service = await openMailApp(stub.settings)
})
afterAll(async () => {
  await service.close()
  await stub.close()
})

it.each([
  ['accepts an invitation 1 ms before it expires', 999, landedBody('keycloak')],
  [
    'refuses an invitation from the moment at which it expires',
    1_000,
    { error: 'server_error', error_code: 'invite_not_found', error_description: 'Invite not found', sb: '' },
  ],
])('%s, when the browser returns from the provider', async (_outcome, milliseconds, landed) => {
  const email = `kate${milliseconds}@example.com`
  await service.post('/invite', { email }, OPERATOR)
  const { token } = await service.readMail(email)
  service.clock.advance((service.deps.config.mail.codeLifetimeSeconds - 1) * 1_000)
  const state = await begin(service, 'keycloak', { invite_token: token })
  service.clock.advance(milliseconds)
  const account = { sub: String(milliseconds), email, verified: true }
  expect((await comeBackAs(service, state, account)).fragment).toEqual(landed)
})

it('refuses the invitation of a user who became an SSO user meanwhile', async () => {
  const email = 'sso@example.com'
  await service.post('/invite', { email }, OPERATOR)
  const { token } = await service.readMail(email)
  const state = await begin(service, 'keycloak', { invite_token: token })
  await service.deps.db.updateTable('users').set({ is_sso_user: true }).where('email', '=', email).execute()
  expect((await comeBackAs(service, state, { sub: 'sso', email, verified: true })).fragment).toEqual({
    error: 'server_error',
    error_code: 'invite_not_found',
    error_description: 'Invite not found',
    sb: '',
  })
})

it.each([
  ['by its link', true],
  ['by a sign-in', false],
])(
  'leaves a user who accepts an invitation %s what the admin has given, but no way in of before',
  async (...[, isByLink]) => {
    const [email, phone] = [`gifts-${isByLink}@example.com`, isByLink ? '15005550081' : '15005550082']
    const invite = () => service.post('/invite', { email, data: { team: 'red', name: 'Ann' } }, OPERATOR)
    const { id } = (await invite()).json()
    const change = (payload: object) =>
      service.app.inject({ method: 'PUT', url: `/admin/users/${id}`, headers: OPERATOR, payload })
    expect(
      (await change({ phone: `+${phone}`, user_metadata: { desk: 4 }, app_metadata: { plan: 'gold' } })).statusCode,
    ).toBe(200)
    await service.readMail(email)
    await invite()
    const { token } = await service.readMail(email)
    const password = 'a password of before'
    expect((await change({ password })).statusCode).toBe(200)
    service.clock.advance(1_000)
    const state = await begin(service, 'keycloak', isByLink ? { invite_token: token } : {})
    const account = { sub: `gifts-${isByLink}`, email, verified: !isByLink }
    expect((await comeBackAs(service, state, account)).fragment).toEqual(landedBody('keycloak'))
    const claims = accountBody({
      iss: stub.url,
      sub: account.sub,
      email,
      custom_claims: { verified: account.verified },
      email_verified: account.verified,
    })
    expect(statusAndBody(await service.app.inject({ url: `/admin/users/${id}`, headers: OPERATOR }))).toEqual([
      200,
      externalBody('keycloak', claims, {
        id,
        phone,
        invited_at: anyTime,
        confirmation_sent_at: anyTime,
        app_metadata: { plan: 'gold', provider: 'keycloak', providers: ['keycloak', 'phone'] },
        user_metadata: { ...claims, team: 'red', name: 'Ann', desk: 4 },
        identities: [
          identityBody({ id: account.sub, user_id: id, identity_data: claims, provider: 'keycloak', email }),
          phoneIdentity(id, phone),
        ],
      }),
    ])
    const answer = await service.post('/token?grant_type=password', { email, password })
    expect(statusAndBody(answer)).toEqual(wrongPassword)
  },
)
