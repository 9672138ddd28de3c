import { sql } from 'kysely'
import { findStoredSession } from '../../src/sessions/session-repository.ts'
import { buildClaims } from '../../src/sessions/session-view.ts'
import { addApp } from '../authenticator-app.ts'
import { forgeBearer, OPERATOR } from '../forged-token.ts'
import type { MailApp } from '../mail-app.ts'
import { createSignedIn } from '../signed-in.ts'
import type { OptionCases } from './option-case.ts'

/** Refreshes, and returns the new token or the error. */
async function refresh({ post }: MailApp, token: string) {
  const answer = await post('/token?grant_type=refresh_token', { refresh_token: token })
  const { refresh_token: child, error_code: code } = answer.json()
  return { child: String(child), outcome: answer.statusCode === 200 ? 200 : code }
}

/** Makes the tokens of a session older, by the clock of the database. */
async function age({ deps }: MailApp, sessionId: string): Promise<void> {
  await deps.db
    .updateTable('refresh_tokens')
    .set({ updated_at: sql<string>`updated_at - interval '1 hour'` })
    .where('session_id', '=', sessionId)
    .execute()
}

/** Refreshes twice, so that the first token is not the parent of the newest. */
async function refreshTwice(service: MailApp) {
  const { refreshToken: first } = await createSignedIn(service)
  const { child: second } = await refresh(service, first)
  const { child: third } = await refresh(service, second)
  return { first, second, third }
}

/** Refreshes with the token from before a second factor, and with the token from after it. */
async function refreshSteppedUp(service: MailApp) {
  const before = await createSignedIn(service)
  const after = await addApp(service, before.headers)
  const { outcome } = await refresh(service, before.refreshToken)
  return [outcome, (await refresh(service, after.refreshToken)).outcome]
}

type Headers = Readonly<Record<string, string>>

/** The status and error code of a request. */
async function call({ app }: MailApp, method: 'GET' | 'POST', url: string, headers: Headers) {
  const { statusCode, body } = await app.inject({ method, url, headers })
  return [statusCode, body === '' ? undefined : JSON.parse(body).error_code]
}

/** The status and error code of a change of the user's own password. */
async function change({ app }: MailApp, headers: Headers) {
  const payload = { password: 'another correct horse' }
  const answer = await app.inject({ method: 'PUT', url: '/user', headers, payload })
  return [answer.statusCode, answer.json().error_code]
}

const FAR = 4_102_444_800
const MISMATCH = 'validation_failed'
const USED = 'refresh_token_already_used'

/** Cases about sessions, their tokens, and requests that need them. */
export const sessionCases = {
  acceptSpentParentUntilChildIsUsed: {
    observe: async (service) => {
      const { refreshToken: first, sessionId } = await createSignedIn(service)
      const { child: second } = await refresh(service, first)
      await age(service, sessionId)
      const again = await refresh(service, first)
      const next = await refresh(service, again.outcome === 200 ? again.child : second)
      const late = await refresh(service, first)
      return [again.outcome, again.child === second, next.outcome, late.outcome, await refreshSteppedUp(service)]
    },
    compatible: [USED, false, USED, USED, [USED, USED]],
    supabase: [200, true, 200, USED, [200, 200]],
  },
  branchOnAncestorReuse: {
    settings: { AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '10s' },
    observe: async (service) => {
      const { first, third } = await refreshTwice(service)
      const tabs = await Promise.all(Array.from({ length: 8 }, () => refresh(service, first)))
      const [branch, ...same] = tabs
      const fourth = await refresh(service, third)
      const later = await Promise.all([refresh(service, String(branch?.child)), refresh(service, fourth.child)])
      return [
        branch?.outcome,
        same.every(({ child }) => child === branch?.child),
        fourth.outcome,
        new Set([third, fourth.child, branch?.child]).size,
        later.map(({ outcome }) => outcome),
      ]
    },
    compatible: [USED, true, USED, 2, ['validation_failed', 'validation_failed']],
    supabase: [200, true, 200, 3, [200, 200]],
  },
  expireTokensAtTimebox: {
    settings: { AUTH_SESSIONS_TIMEBOX: '60s', AUTH_SESSIONS_ENFORCE_ON_ACCESS_TOKEN: 'true' },
    observe: async (service) => {
      const { sessionId } = await createSignedIn(service)
      const session = await findStoredSession(service.deps.pools, sessionId)
      if (!session) throw new Error('the session has ended')
      // The database clock determines the start of a session, so the test sets the start by its own clock.
      const startedAt = service.clock.now().toISOString()
      const { issuedAtSeconds, expiresAtSeconds } = await buildClaims(service.deps, { ...session, startedAt })
      return expiresAtSeconds - issuedAtSeconds > 60
    },
    compatible: false,
    supabase: true,
  },
  takeAssuranceLevelFrom: {
    observe: async (service) => {
      const before = await createSignedIn(service)
      await addApp(service, before.headers)
      return change(service, before.headers)
    },
    compatible: [401, 'insufficient_aal'],
    supabase: [200, undefined],
  },
  acceptTokenAudience: {
    observe: async (service) => {
      const { user, sessionId } = await createSignedIn(service)
      const aud = ['my-api', 'authenticated']
      const claims = { aud, sub: user.id, session_id: sessionId, role: 'authenticated', aal: 'aal1', exp: FAR }
      const headers = { authorization: forgeBearer(claims) }
      return [
        await call(service, 'GET', '/user', headers),
        await call(service, 'GET', '/user', { ...headers, 'x-jwt-aud': 'another' }),
        await change(service, headers),
        await call(service, 'POST', '/logout?scope=others', headers),
      ]
    },
    compatible: [
      [400, MISMATCH],
      [400, MISMATCH],
      [403, 'user_not_found'],
      [403, 'user_not_found'],
    ],
    supabase: [
      [200, undefined],
      [400, MISMATCH],
      [200, undefined],
      [204, undefined],
    ],
  },
  reportDeletedUserAsMissing: {
    observe: async (service) => {
      const { headers, user } = await createSignedIn(service)
      const [url, payload] = [`/admin/users/${user.id}`, { should_soft_delete: true }]
      await service.app.inject({ method: 'DELETE', url, payload, headers: OPERATOR })
      return [
        await call(service, 'GET', '/user', headers),
        await change(service, headers),
        await call(service, 'POST', '/logout', headers),
      ]
    },
    compatible: Array(3).fill([403, 'user_not_found']),
    supabase: Array(3).fill([403, 'session_not_found']),
  },
  SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: {
    observe: async ({ deps }) => deps.config.sessions.reuseIntervalMs,
    compatible: 10_000,
    supabase: 0,
  },
  SESSIONS_ENFORCE_ON_ACCESS_TOKEN: {
    observe: async (service) => {
      const { headers } = await createSignedIn(service)
      const first = await call(service, 'POST', '/logout', headers)
      return [first, await call(service, 'GET', '/user', headers), await call(service, 'POST', '/logout', headers)]
    },
    compatible: [
      [204, undefined],
      [200, undefined],
      [204, undefined],
    ],
    supabase: [
      [204, undefined],
      [403, 'session_not_found'],
      [403, 'session_not_found'],
    ],
  },
} as const satisfies OptionCases
