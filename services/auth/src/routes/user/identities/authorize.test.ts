import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectFailure } from '../../../../test/expect-failure.ts'
import { type ExternalApp, openExternalApp, REDIRECT_URI } from '../../../../test/external/external-app.ts'
import { createSignedIn } from '../../../../test/signed-in.ts'

let service: ExternalApp
beforeAll(async () => {
  service = await openExternalApp()
})
afterAll(() => service.close())

const PATH = '/user/identities/authorize'
const url = `${PATH}?provider=github`

function readUrl(text: unknown) {
  const { origin, pathname, searchParams } = new URL(String(text))
  return { url: origin + pathname, query: Object.fromEntries(searchParams) }
}

const atGitHub = {
  url: 'https://github.com/login/oauth/authorize',
  query: {
    client_id: 'github-client',
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'user:email',
    state: expect.stringMatching(/^[0-9a-f-]{36}$/),
  },
}

describe('GET /user/identities/authorize', () => {
  it('302: sends the browser to the provider, in a flow of the session', async () => {
    const { headers, user, sessionId } = await createSignedIn(service)
    const answer = await service.app.inject({ url, headers })
    expect([answer.statusCode, answer.body, readUrl(answer.headers.location)]).toEqual([302, '', atGitHub])
    const { 'referrer-policy': referrer, 'cache-control': cache } = answer.headers
    expect([referrer, cache]).toEqual(['no-referrer', 'no-store'])
    const { state = '' } = readUrl(answer.headers.location).query
    const columns = ['provider_type', 'linking_target_id', 'linking_session_id'] as const
    const flow = service.deps.db.selectFrom('flow_state').select(columns)
    expect(await flow.where('id', '=', state).execute()).toEqual([
      { provider_type: 'github', linking_target_id: user.id, linking_session_id: sessionId },
    ])
  })

  it('200: answers the URL to a client that cannot follow a redirect', async () => {
    const { headers } = await createSignedIn(service)
    const answer = await service.app.inject({ url: `${url}&skip_http_redirect=true`, headers })
    expect([answer.statusCode, answer.json()]).toEqual([200, { url: expect.any(String) }])
    expect(readUrl(answer.json().url)).toEqual(atGitHub)
  })

  it('400: refuses an unknown provider', async () => {
    const { headers } = await createSignedIn(service)
    const unknown = { method: 'GET', url: `${PATH}?provider=none`, headers } as const
    await expectFailure(service, unknown, [400, 'validation_failed', 'Unsupported provider: provider is not enabled'])
  })

  it('401: refuses a request without an access token', async () => {
    const missing = [401, 'no_authorization', 'This endpoint requires a valid Bearer token'] as const
    await expectFailure(service, { method: 'GET', url }, missing)
  })

  it('404: refuses while linking is off', async () => {
    const off = await openExternalApp({ AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'false' })
    const { headers } = await createSignedIn(off)
    const disabled = [404, 'manual_linking_disabled', 'Manual linking is disabled'] as const
    await expectFailure(off, { method: 'GET', url, headers }, disabled)
    await off.close()
  })
})
