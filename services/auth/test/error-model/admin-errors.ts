import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { factorRow } from '../factor-row.ts'
import { forgeBearer, OPERATOR } from '../forged-token.ts'
import { createSignedUp, type SignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post } from './error-case.ts'
import { refused } from './request-errors.ts'
import { RULES } from './settings.ts'

const asAdmin = (request: InjectOptions): InjectOptions => ({ ...request, headers: OPERATOR })

/** An error case of an admin request about an existing user. */
const aboutUser = (makeRequest: (signedUp: SignedUp) => InjectOptions): ErrorCase => ({
  raise: async (world, send) => {
    const service = await world.service()
    return send(service, asAdmin(makeRequest(await createSignedUp(service.deps))))
  },
})

const changed = (id: string, payload: object): InjectOptions => ({ method: 'PUT', url: `/admin/users/${id}`, payload })

/** An error case of an API admin's request about an operator. */
const aboutConsoleUser = (makeRequest: (id: string, email: string) => InjectOptions): ErrorCase => ({
  raise: async (world, send) => {
    const service = await world.service()
    const { user, email } = await createSignedUp(service.deps, { console_role: 'viewer' })
    return send(service, asAdmin(makeRequest(user.id, email)))
  },
})

/** Errors of requests that only admins may make, and of missing features. */
export const adminErrors: ErrorCases = {
  notAdmin: [refused(get('/admin/users', { authorization: forgeBearer({ role: 'authenticated' }) }))],
  consoleRoleReserved: [
    refused(asAdmin(post('/admin/users', { email: 'role@example.com', app_metadata: { console_role: 'admin' } }))),
    aboutUser(({ user }) => changed(user.id, { app_metadata: { console_role: 'viewer' } })),
    {
      raise: async (world, send) => {
        const service = await world.service()
        const { user } = await createSignedUp(service.deps)
        const authorization = forgeBearer({ role: 'service_role', sub: user.id })
        const payload = { app_metadata: { console_role: 'admin' } }
        return send(service, { method: 'PUT', url: '/user', payload, headers: { authorization } })
      },
    },
  ],
  consoleUserProtected: [
    aboutConsoleUser((id) => changed(id, { password: 'a new password, 2026' })),
    aboutConsoleUser((id) => ({ method: 'DELETE', url: `/admin/users/${id}` })),
    aboutConsoleUser((id) => ({ method: 'PUT', url: `/admin/users/${id}/factors/${randomUUID()}`, payload: {} })),
    aboutConsoleUser((id) => ({ method: 'DELETE', url: `/admin/users/${id}/factors/${randomUUID()}` })),
    aboutConsoleUser((_id, email) => post('/admin/generate_link', { type: 'magiclink', email })),
  ],
  userNotFound: [refused(asAdmin(get(`/admin/users/${randomUUID()}`)))],
  userIdTaken: [
    aboutUser(({ user }) => post(`/admin/users/${user.id}`, { email: 'other@example.com' })),
    aboutUser(({ user }) => post('/admin/users', { id: user.id, email: 'other@example.com' })),
  ],
  emailExists: [
    aboutUser(({ email }) => post('/admin/users', { email })),
    aboutUser(({ email }) => post(`/admin/users/${randomUUID()}`, { email })),
    {
      raise: async (world, send) => {
        const service = await world.service()
        const [{ email }, { user }] = [await createSignedUp(service.deps), await createSignedUp(service.deps)]
        return send(service, asAdmin({ method: 'PUT', url: `/admin/users/${user.id}`, payload: { email } }))
      },
    },
    aboutUser(({ email }) => post('/invite', { email })),
    aboutUser(({ email }) => post('/admin/generate_link', { type: 'invite', email })),
  ],
  phoneExistsForAdmin: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const phone = `1707${1e6 + Math.floor(9e6 * Math.random())}`
        await createSignedUp(service.deps, { phone })
        return send(service, asAdmin(post('/admin/users', { phone })))
      },
    },
  ],
  emailUnknown: [refused(asAdmin(post('/admin/generate_link', { type: 'recovery', email: 'nobody@example.com' })))],
  secureChangeOff: [
    {
      raise: async (world, send) => {
        const service = await world.service(RULES)
        const { email } = await createSignedUp(service.deps)
        const link = { type: 'email_change_current', email, new_email: 'next@example.com' }
        return send(service, asAdmin(post('/admin/generate_link', link)))
      },
    },
  ],
  factorNotFound: [
    aboutUser(({ user }) => ({ method: 'DELETE', url: `/admin/users/${user.id}/factors/${randomUUID()}` })),
  ],
  factorNameTaken: [
    {
      text: 'A factor with the friendly name "phone" for this user already exists',
      raise: async (world, send) => {
        const service = await world.service()
        const { user } = await createSignedUp(service.deps)
        const rows = ['phone', 'laptop'].map((name) => ({ user_id: user.id, factor_type: 'totp', friendly_name: name }))
        const [, laptop] = await service.deps.db
          .insertInto('mfa_factors')
          .values(rows.map(factorRow))
          .returning('id')
          .execute()
        const url = `/admin/users/${user.id}/factors/${laptop?.id}`
        return send(service, asAdmin({ method: 'PUT', url, payload: { friendly_name: 'phone' } }))
      },
    },
  ],
  samlDisabled: [refused(post('/sso', {})), refused(asAdmin(get('/admin/sso/providers')))],
  passkeysDisabled: [refused(get('/passkeys'))],
  oauthServerDisabled: [refused(get('/oauth/authorize'))],
  customProvidersDisabled: [refused(asAdmin(get('/admin/custom-providers')))],
}
