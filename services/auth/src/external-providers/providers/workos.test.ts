import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fragmentBody } from '../../../test/bodies.ts'
import { type ExternalApp, openExternalApp } from '../../../test/external/external-app.ts'
import { createSignedUp } from '../../../test/signed-up.ts'

let service: ExternalApp
beforeAll(async () => {
  service = await openExternalApp({ AUTH_EXTERNAL_WORKOS_TRUSTED_CONNECTIONS: 'conn_own, org_own' })
})
afterAll(() => service.close())

/** Signs in with a connection that returns this profile. */
async function signInBy(connection: string, organization: string, email: string) {
  const profile = { id: `prof_${connection}_${organization}`, connection_id: connection, organization_id: organization }
  service.answer((call) =>
    call === 'POST https://api.workos.com/sso/token'
      ? { body: { access_token: 'token', profile: { ...profile, email } } }
      : undefined,
  )
  const { state } = await service.begin('workos', { connection })
  return service.comeBack({ state, code: 'code' })
}

describe('a sign-in by WorkOS', () => {
  it('signs in to no account by an address of an untrusted connection', async () => {
    const { user, email } = await createSignedUp(service.deps)
    const { fragment, query } = await signInBy('conn_strange', 'org_strange', email)
    const refused = {
      error: 'access_denied',
      error_code: 'provider_email_needs_verification',
      error_description: 'Unverified email with workos. A confirmation email has been sent to your workos email',
    }
    expect([query, fragment]).toEqual([refused, { ...refused, sb: '' }])
    const identities = service.deps.db.selectFrom('identities').select('provider').where('user_id', '=', user.id)
    expect(await identities.execute()).toEqual([{ provider: 'email' }])
  })

  it.each([
    ['connection', 'conn_own', 'org_any'],
    ['organization', 'conn_any', 'org_own'],
  ])('signs in to the account of an address of a trusted %s', async (_name, connection, organization) => {
    const { user, email } = await createSignedUp(service.deps)
    const { fragment } = await signInBy(connection, organization, email)
    expect(fragment).toEqual(fragmentBody('workos', { provider_token: 'token' }))
    const headers = { authorization: `Bearer ${fragment.access_token}` }
    const { id, app_metadata } = (await service.app.inject({ url: '/user', headers })).json()
    expect({ id, app_metadata }).toEqual({
      id: user.id,
      app_metadata: { provider: 'email', providers: ['email', 'workos'] },
    })
  })
})
