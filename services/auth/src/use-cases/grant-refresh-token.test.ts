import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { createSession } from '../sessions/create-session.ts'
import { grantRefreshToken } from './grant-refresh-token.ts'

const test = await openTestApp({ settings: { AUTH_AUDIT_LOG_DISABLE_POSTGRES: 'true' } })
afterAll(() => test.close())

describe('grantRefreshToken', () => {
  // ASVS 16.3.1, 16.3.3
  it('logs refreshes and stolen tokens when the database keeps no audit entries', async () => {
    const lines: unknown[] = []
    const logger = Object.assign(Object.create(test.deps.logger), { info: (line: unknown) => lines.push(line) })
    const deps = { ...test.deps, logger }
    const origin = { userAgent: null, ip: '1.1.1.1' }
    const { user } = await createSignedUp(deps)
    const { refreshToken } = await createSession(deps.db, deps, user, {
      ...origin,
      method: 'password',
      credentialSince: null,
    })
    const grant = async (token: string) => {
      lines.length = 0
      const granted = await grantRefreshToken(deps, { ...origin, refreshToken: token }).catch(() => undefined)
      return granted?.session.refresh_token ?? ''
    }
    const event = (action: string) => ({ auth_event: { actor_id: user.id, action, ip_address: '1.1.1.1' } })

    const child = await grant(refreshToken)
    expect(lines).toEqual([event('token_refreshed'), event('token_revoked')])
    await grant(refreshToken)
    expect(lines).toEqual([event('token_refreshed')])
    await grant(child)
    await grant(refreshToken)
    expect(lines).toEqual([event('token_revoked')])
    await grant('unknown_token')
    expect(lines).toEqual([])
  })
})
