import { randomUUID } from 'node:crypto'
import type { TestApp } from '../auth-app.ts'
import { factorRow } from '../factor-row.ts'
import { forgeBearer } from '../forged-token.ts'
import { createSignedUp, type SignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post } from './error-case.ts'
import { refused } from './request-errors.ts'
import { NO_CODES, RULES } from './settings.ts'

const bearer = (claims: Readonly<Record<string, unknown>>) => ({ authorization: forgeBearer(claims) })
const INVALID = 'invalid JWT: unable to parse or verify signature, '

export interface SignedIn extends SignedUp {
  readonly headers: { readonly authorization: string }
  readonly sessionId: string
  readonly refreshToken: string
}

/** A new user who has just signed in. */
export async function signIn(service: TestApp, changes: Parameters<typeof createSignedUp>[1] = {}): Promise<SignedIn> {
  const signedUp = await createSignedUp(service.deps, changes)
  const { email, password } = signedUp
  const answer = await service.app.inject(post('/token?grant_type=password', { email, password }))
  const { access_token, refresh_token } = answer.json()
  const { session_id } = JSON.parse(Buffer.from(access_token.split('.')[1], 'base64url').toString())
  return {
    ...signedUp,
    headers: { authorization: `Bearer ${access_token}` },
    sessionId: session_id,
    refreshToken: refresh_token,
  }
}

const refresh = (refresh_token: string) => post('/token?grant_type=refresh_token', { refresh_token })

/** An error case of a refresh after a change of the session. */
function refreshAfter(
  happen: (service: TestApp, signedIn: SignedIn) => Promise<unknown>,
  settings: Readonly<Record<string, string>> = {},
): ErrorCase {
  return {
    oauth: 'invalid_grant',
    raise: async (world, send) => {
      const service = await world.service(settings)
      const signedIn = await signIn(service)
      await happen(service, signedIn)
      return send(service, refresh(signedIn.refreshToken))
    },
  }
}

/** An error case of an authenticated request after a change of its user. */
function askAfter(
  happen: (service: TestApp, signedIn: SignedIn) => Promise<unknown>,
  settings: Readonly<Record<string, string>> = {},
): ErrorCase {
  return {
    raise: async (world, send) => {
      const service = await world.service(settings)
      const signedIn = await signIn(service)
      await happen(service, signedIn)
      return send(service, get('/user', signedIn.headers))
    },
  }
}

const ban = ({ deps }: TestApp, { user }: SignedUp) =>
  deps.db
    .updateTable('users')
    .set({ banned_until: new Date('2100-01-01') })
    .where('id', '=', user.id)
    .execute()
const makeOlder =
  (hours: number) =>
  ({ deps }: TestApp, { sessionId }: SignedIn) =>
    deps.db
      .updateTable('sessions')
      .set({ created_at: new Date(Date.now() - hours * 3_600_000) })
      .where('id', '=', sessionId)
      .execute()

export const sessionErrors: ErrorCases = {
  noAuthorization: [refused(get('/user')), refused(post('/logout', {}, { authorization: 'Basic x' }))],
  badJwt: [
    refused(get('/user', { authorization: 'Bearer x' }), {
      text: `${INVALID}token is malformed: token contains an invalid number of segments`,
    }),
    refused(get('/user', bearer({ exp: 0 })), { text: `${INVALID}token has invalid claims: token is expired` }),
  ],
  badJwtIssuer: [refused(get('/user', bearer({ sub: randomUUID(), iss: 'https://elsewhere.example.com' })))],
  badJwtWithoutSubject: [refused(get('/user', bearer({ role: 'authenticated' })))],
  badJwtSession: [refused(get('/user', bearer({ sub: randomUUID(), session_id: 'x' })))],
  badJwtSubject: [refused(get('/user', bearer({ sub: 'x' })))],
  tokenUserNotFound: [
    refused(get('/user', bearer({ sub: randomUUID(), aud: 'authenticated' }))),
    askAfter(({ deps }, { user }) => deps.db.deleteFrom('users').where('id', '=', user.id).execute()),
  ],
  userBanned: [
    askAfter(ban),
    {
      raise: async (world, send) => {
        const service = await world.service()
        const signedUp = await createSignedUp(service.deps)
        await service.app.inject(post('/magiclink', { email: signedUp.email }))
        const { token } = await service.readMail(signedUp.email)
        await ban(service, signedUp)
        return send(service, post('/verify', { type: 'magiclink', token_hash: token }))
      },
    },
  ],
  sessionNotFound: [askAfter(({ app }, { headers }) => app.inject(post('/logout', {}, headers)), NO_CODES)],
  audienceMismatch: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const { headers } = await signIn(service)
        return send(service, get('/user', { ...headers, 'x-jwt-aud': 'elsewhere' }))
      },
    },
  ],
  refreshTokenNotFound: [
    refused(refresh('x'.repeat(32)), { oauth: 'invalid_grant' }),
    refreshAfter(({ app }, { headers }) => app.inject(post('/logout', {}, headers))),
  ],
  refreshUserBanned: [refreshAfter(ban)],
  refreshTokenAlreadyUsed: [
    refreshAfter(async ({ app }, { refreshToken }) => {
      const child = (await app.inject(refresh(refreshToken))).json().refresh_token
      await app.inject(refresh(child))
    }),
  ],
  sessionExpired: [refreshAfter(makeOlder(25), RULES)],
  sessionInactive: [refreshAfter(makeOlder(13), RULES)],
  sessionSuperseded: [
    refreshAfter(
      ({ app }, { email, password }) => app.inject(post('/token?grant_type=password', { email, password })),
      RULES,
    ),
  ],
  sessionLowAal: [
    refreshAfter(async (service, signedIn) => {
      const factor = { user_id: signedIn.user.id, factor_type: 'totp', status: 'verified' }
      await service.deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
      await makeOlder(2)(service, signedIn)
    }, RULES),
  ],
  oauthClientRequired: [
    {
      ...refreshAfter(({ deps }, { sessionId }) =>
        deps.db.updateTable('sessions').set({ oauth_client_id: randomUUID() }).where('id', '=', sessionId).execute(),
      ),
      oauth: 'invalid_client',
    },
  ],
  tooManyRefreshes: [
    {
      oauth: 'invalid_request',
      raise: async (world, send) => {
        const service = await world.service()
        const { sessionId, refreshToken } = await signIn(service)
        // Lock the session for the longest time that a refresh may wait.
        return service.deps.db.transaction().execute(async (trx) => {
          await trx.selectFrom('sessions').select('id').where('id', '=', sessionId).forUpdate().execute()
          return send(service, refresh(refreshToken))
        })
      },
    },
  ],
}
