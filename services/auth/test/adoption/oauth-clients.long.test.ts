import { describe, expect, it, onTestFinished } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { reuseRefreshToken } from '../../src/sessions/refresh-session.ts'
import { createAdoptedDatabase } from '../adopted-database.ts'
import { totpCode } from '../authenticator-app.ts'
import { errorBody, outcomeOf, statusAndBody } from '../bodies.ts'
import { type AdoptedApp, openAdopted, type Restored, restore, restoreAdopted } from './adopted-app.ts'
import { openBeside, openImportedVersion } from './imported-app.ts'
import { runSql } from './restored-database.ts'

const VERSIONS = ['v2.196.0', 'v2.196.0-encrypted'] as const
const REFUSED = [
  400,
  { error: 'invalid_client', error_description: 'Client authentication required for OAuth session' },
]

const tokensOf = (app: Pick<AdoptedApp, 'user'>) => {
  const tokens = app.user('oauth-client')?.tokens
  if (tokens === undefined) throw new Error('the database has a session of an OAuth client')
  return tokens
}
const refresh = (app: AdoptedApp, token: string) =>
  app.post('/token?grant_type=refresh_token', { refresh_token: token })

/** The sessions of OAuth clients, with the data that the old service needs to continue them. */
const readSessions = ({ database }: Restored) =>
  runSql(
    database.superuserUrl,
    `SELECT to_jsonb(s) - 'last_ip' - 'label' AS session,
       ARRAY(SELECT to_jsonb(t) FROM auth.refresh_tokens t WHERE t.session_id = s.id) AS tokens,
       ARRAY(SELECT to_jsonb(a) - 'credential_since' FROM auth.mfa_amr_claims a WHERE a.session_id = s.id) AS claims
     FROM auth.sessions s WHERE oauth_client_id IS NOT NULL`,
  )

describe.each(VERSIONS)('a session of an OAuth client in a database of %s', (version) => {
  it('is not refreshed here, alone or in a batch or by a spent token, and continues after adopt --undo', async () => {
    const before = await readSessions(await restore(version))
    expect(before).toHaveLength(1)
    const restored = await restoreAdopted(version)
    const app = await openAdopted(restored)
    const { refresh_token: token } = tokensOf(app)
    expect(statusAndBody(await refresh(app, token))).toEqual(REFUSED)
    const own = app.user('phone')?.sessions.at(-1)?.refresh_token ?? ''
    const together = await Promise.all([refresh(app, token), refresh(app, own), refresh(app, token)])
    expect(together.map(outcomeOf)).toEqual([REFUSED, 200, REFUSED])
    const spent = await reuseRefreshToken(app.deps, { token, userAgent: null, ip: '' })
    expect(spent.result).toEqual({ verdict: 'client-required' })
    await app.close()
    const costs: number[] = []
    await undoAdoption(restored.deps, async ({ sessions: { ended } }) => costs.push(ended) > 0)
    expect(costs).toEqual([1])
    expect(await readSessions(restored)).toEqual(before)
  })

  it('is not stepped up to aal2 by a second factor, whose tokens would not tell the client', async () => {
    const app = await openAdopted(await restoreAdopted(version))
    const headers = { authorization: `Bearer ${tokensOf(app).access_token}` }
    const enrolled = await app.post('/factors', { factor_type: 'totp', friendly_name: 'mine' }, headers)
    const { id, totp } = enrolled.json()
    const challenge = await app.post(`/factors/${id}/challenge`, {}, headers)
    const code = totpCode(totp.secret, app.deps.now())
    expect(
      statusAndBody(await app.post(`/factors/${id}/verify`, { challenge_id: challenge.json().id, code }, headers)),
    ).toEqual([403, errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist')])
  })
})

it('leaves the sessions of OAuth clients out of an import, with their tokens and authentication methods', async () => {
  const app = await openImportedVersion('v2.196.0')
  const { refresh_token: token } = tokensOf(app)
  const client = `SELECT id FROM auth.sessions WHERE oauth_client_id IS NOT NULL`
  const [{ id = '' } = {}] = await runSql<{ id: string }>(app.restored.database.superuserUrl, client)
  expect(
    await runSql(
      app.database.directUrl,
      `SELECT id FROM auth.sessions WHERE id = '${id}' OR oauth_client_id IS NOT NULL
       UNION ALL SELECT session_id FROM auth.refresh_tokens WHERE session_id = '${id}'
       UNION ALL SELECT session_id FROM auth.mfa_amr_claims WHERE session_id = '${id}'`,
    ),
  ).toEqual([])
  expect(statusAndBody(await refresh(app, token))).toEqual([
    400,
    errorBody(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
  ])
})

it('takes nothing for changed when an OAuth client has refreshed at the source, into an adopted database too', async () => {
  const target = await createAdoptedDatabase()
  const app = await openBeside(await restore('v2.196.0'), target)
  onTestFinished(() => target.drop())
  await app.run()
  await runSql(
    app.restored.database.superuserUrl,
    `UPDATE auth.sessions SET refreshed_at = now() WHERE oauth_client_id IS NOT NULL;
     UPDATE auth.refresh_tokens SET revoked = true WHERE token = '${tokensOf(app).refresh_token}'`,
  )
  const { tables } = await app.run()
  expect(tables.filter(({ added, changed, deleted }) => added + changed + deleted > 0)).toEqual([])
})
