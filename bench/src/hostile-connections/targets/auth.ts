import { z } from 'zod'
import { signAdminToken } from '../../services/admin-token.ts'
import { signUp } from '../../services/auth.ts'
import { request } from '../../services/http-client.ts'
import { HONEST_ADDRESS, type HonestRequest } from '../honest-load.ts'
import { documents, inTurn, mixed, type Target } from '../target.ts'

/** Fewer than may sign up at once from one address. */
const USERS = 24
const METADATA_BYTES = 30_000
const BODY_BYTES = 1_048_576
const JSON_TYPE = { 'content-type': 'application/json' }

const Refreshed = z.object({ refresh_token: z.string() })

/** Users who read their record and refresh, an operator who lists them; and a user with as much metadata as may be. */
export const authTarget: Target = {
  service: 'auth',
  env: {
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_TRUSTED_PROXIES: `${HONEST_ADDRESS}/32`,
  },
  prepare: async ({ url, deployment }) => {
    const secret = deployment.secrets.AUTH_JWT_SECRET
    if (secret === undefined) throw new Error('the stack has no AUTH_JWT_SECRET')
    const operator = { authorization: `Bearer ${signAdminToken(secret)}` }
    const sessions = []
    for (let user = 0; user < USERS; user += 1) sessions.push(await signUp(url, `user${user}@bench.example`))
    const intruder = await signUp(url, 'intruder@bench.example')
    const bearer = { authorization: `Bearer ${intruder.access_token}` }
    await request(`${url}/user`, {
      method: 'PUT',
      headers: { ...JSON_TYPE, ...bearer },
      body: JSON.stringify({ data: { filler: 'x'.repeat(METADATA_BYTES) } }),
    })
    const readers = inTurn(sessions.map(({ access_token: token }) => ({ authorization: `Bearer ${token}` })))
    const refreshTokens = sessions.map(({ refresh_token: token }) => token)
    const read = (): HonestRequest => ({ method: 'GET', path: '/user', headers: readers() })
    const refresh = (): HonestRequest => {
      const token = refreshTokens.shift()
      // All of them may be under way.
      if (token === undefined) return read()
      return {
        method: 'POST',
        path: '/token?grant_type=refresh_token',
        headers: JSON_TYPE,
        body: JSON.stringify({ refresh_token: token }),
        learn: (body) => refreshTokens.push(Refreshed.parse(JSON.parse(body)).refresh_token),
      }
    }
    return {
      next: mixed([
        read,
        refresh,
        () => ({ method: 'GET', path: '/settings', headers: {} }),
        () => ({ method: 'GET', path: '/admin/users?per_page=20', headers: operator }),
      ]),
      huge: [...documents, { path: '/user', headers: bearer }],
      slowBody: { path: '/signup', headers: JSON_TYPE, bytes: BODY_BYTES },
    }
  },
}
