import { describe, expect, it } from 'vitest'
import { amrEntry, claimsBody } from '../../test/bodies.ts'
import { loadAuthConfig } from '../config.ts'
import type { IssuedSession } from './session.ts'
import { signSessionView } from './session-view.ts'

const now = new Date('2026-01-02T03:04:05.678Z')
const issuedAt = Math.floor(now.getTime() / 1_000)
const at = '2026-01-02T03:00:05.999999+00:00'

function configOf(settings: Record<string, string>) {
  const env = {
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DATABASE_URL: 'postgres://localhost/auth',
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_MAILER_AUTOCONFIRM: 'true',
    ...settings,
  }
  return loadAuthConfig(env)
}

/** If `ofHook` is given, a hook adds its members to the claims. */
async function view(session: IssuedSession, settings: Record<string, string> = {}, ofHook?: object) {
  const signed: object[] = []
  const sign = (claims: object) => `token ${signed.push(claims)}`
  const call = async (_name: unknown, payload: { readonly claims?: object }) => ({
    claims: { ...payload.claims, ...ofHook },
  })
  const hooks = { isOn: () => ofHook !== undefined, call, isInRequest: () => false, during: () => {} }
  const deps = { config: configOf(settings), signingKeys: { sign }, now: () => now, hooks }
  const body = await signSessionView(deps, session)
  return { body, claims: signed[0] }
}

const session: IssuedSession = {
  sessionId: '0198c9d2-7b5a-7000-8000-000000000001',
  aal: 'aal1',
  startedAt: at,
  amr: [{ method: 'anonymous', timestamp: issuedAt }],
  refreshToken: 'x'.repeat(32),
  identities: [],
  factors: [],
  user: {
    id: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
    audience: 'people',
    role: 'member',
    email: null,
    emailAsWritten: null,
    phone: null,
    passwordHash: null,
    emailConfirmedAt: null,
    phoneConfirmedAt: null,
    confirmedAt: null,
    invitedAt: null,
    confirmationSentAt: null,
    recoverySentAt: null,
    emailChange: null,
    emailChangeSentAt: null,
    emailChangeConfirmStatus: 0,
    phoneChange: null,
    phoneChangeSentAt: null,
    reauthenticationSentAt: null,
    lastSignInAt: at,
    appMetadata: {},
    userMetadata: {},
    bannedUntil: null,
    deletedAt: null,
    isAnonymous: true,
    isSsoUser: false,
    consoleRole: null,
    pendingSince: null,
    createdAt: at,
    updatedAt: at,
  },
}
const factor = {
  id: '22222222-2222-4222-8222-222222222222',
  friendlyName: null,
  factorType: 'totp',
  status: 'verified',
  phone: null,
  lastChallengedAt: null,
  createdAt: at,
  updatedAt: at,
} as const

const ENFORCED = { AUTH_SESSIONS_TIMEBOX: '5m', AUTH_SESSIONS_ENFORCE_ON_ACCESS_TOKEN: 'true' }

describe('signSessionView', () => {
  it('has the documented members and claims in the documented order', async () => {
    const { body, claims } = await view(session, { AUTH_JWT_ISSUER: 'https://issuer', AUTH_JWT_EXP: '60' })
    const expected = {
      access_token: 'token 1',
      token_type: 'bearer',
      expires_in: 60,
      expires_at: issuedAt + 60,
      refresh_token: session.refreshToken,
      user: {
        id: session.user.id,
        aud: 'people',
        role: 'member',
        email: '',
        phone: '',
        last_sign_in_at: at,
        app_metadata: {},
        user_metadata: {},
        identities: [],
        created_at: at,
        updated_at: at,
        is_anonymous: true,
      },
    }
    expect(JSON.stringify(body)).toBe(JSON.stringify(expected))
    const expectedClaims = {
      iss: 'https://issuer',
      sub: session.user.id,
      aud: 'people',
      iat: issuedAt,
      exp: issuedAt + 60,
      email: '',
      phone: '',
      app_metadata: {},
      user_metadata: {},
      role: 'member',
      aal: 'aal1',
      amr: [{ method: 'anonymous', timestamp: issuedAt }],
      session_id: session.sessionId,
      is_anonymous: true,
    }
    expect(JSON.stringify(claims)).toBe(JSON.stringify(expectedClaims))
  })

  it.each([
    ['no limit', session, {}, 3600],
    ['nobody with a second factor', session, { AUTH_SESSIONS_ALLOW_LOW_AAL: '5m' }, 3600],
    ['a low session', { ...session, factors: [factor] }, { AUTH_SESSIONS_ALLOW_LOW_AAL: '5m' }, 60],
    ['a session that must end, and its tokens without it', session, { AUTH_SESSIONS_TIMEBOX: '5m' }, 3600],
    ['a session that must end, and its tokens with it', session, ENFORCED, 60],
    [
      'a factor not yet verified',
      { ...session, factors: [{ ...factor, status: 'unverified' as const }] },
      { AUTH_SESSIONS_ALLOW_LOW_AAL: '5m' },
      3600,
    ],
    [
      'a high session',
      { ...session, aal: 'aal2' as const, factors: [factor] },
      { AUTH_SESSIONS_ALLOW_LOW_AAL: '5m' },
      3600,
    ],
    [
      'a token shorter than the limit',
      { ...session, factors: [factor] },
      { AUTH_SESSIONS_ALLOW_LOW_AAL: '5m', AUTH_JWT_EXP: '30' },
      30,
    ],
  ])(
    'lets the access token live for %s',
    async (_case, issued: IssuedSession, settings: Record<string, string>, seconds) => {
      const { body, claims } = await view(issued, settings)
      expect([body.expires_in, body.expires_at]).toEqual([seconds, issuedAt + seconds])
      expect(claims).toEqual(
        claimsBody({
          sub: issued.user.id,
          aud: 'people',
          exp: issuedAt + seconds,
          app_metadata: {},
          role: 'member',
          aal: issued.aal,
          amr: [amrEntry('anonymous')],
          session_id: issued.sessionId,
          is_anonymous: true,
        }),
      )
    },
  )

  it.each([
    ['that nobody has confirmed, where the hook leaves the claim out', null, { email_verified: undefined }, false],
    ['that nobody has confirmed, where the hook says otherwise', null, { email_verified: true }, false],
    ['that is confirmed, where the hook says nothing', at, {}, undefined],
    ['that is confirmed, where the hook says otherwise', at, { email_verified: false }, false],
  ])('has the claim of an email %s', async (_case, emailConfirmedAt, ofHook, expected) => {
    const email = 'ann@example.com'
    const user = { ...session.user, email, emailAsWritten: email, emailConfirmedAt }
    const { claims } = await view({ ...session, user }, {}, ofHook)
    expect(claims).toEqual(
      claimsBody({
        sub: user.id,
        aud: 'people',
        exp: issuedAt + 3_600,
        email,
        email_verified: expected,
        app_metadata: {},
        role: 'member',
        amr: [amrEntry('anonymous')],
        session_id: session.sessionId,
        is_anonymous: true,
      }),
    )
  })
})
