import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { watchRows } from '@trestle/testing/watched-rows.ts'
import { expect, it } from 'vitest'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'
import { cleanUp } from '../src/use-cases/clean-up.ts'
import { begin as authorize, beginLinking, startAnybodyProvider, toCode } from './external/anybody-provider.ts'
import { openMailApp } from './mail-app.ts'
import { createSignedIn } from './signed-in.ts'

const TABLE = 'auth.flow_state'
const diagrams = diagramsOf(readFileSync(new URL('../src/flows/README.md', import.meta.url), 'utf8'))
const drawn = diagrams.flatMap(({ arrows }) => [...arrows.keys()])

/** Returns the auth code in a redirect, or `undefined` if it has none. */
const codeIn = ({ headers: { location } }: { readonly headers: { readonly location?: string | undefined } }) =>
  location === undefined ? undefined : (new URL(location).searchParams.get('code') ?? undefined)

it('flows go through the arrows of their two diagrams, and through no others', async () => {
  const provider = await startAnybodyProvider()
  const test = await openMailApp({
    ...provider.settings,
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_RATE_LIMIT_EMAIL_SENT: '1000',
  })
  const now = test.clock.now().getTime()
  // Determines the state as in the README's table.
  const watched = await watchRows(test.database.directUrl, {
    [TABLE]: ({ row: { auth_code_hash, claimed_at, authentication_method } }) => {
      if (auth_code_hash !== null) return 'finished'
      if (claimed_at !== null) return 'claimed'
      return authentication_method === 'oauth' ? 'atProvider' : 'mailed'
    },
  })
  const verifier = randomBytes(32).toString('hex')
  const pkce = {
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 's256',
  }
  const start = async () => {
    const signedIn = await createSignedIn(test)
    const account = { sub: signedIn.user.id, email: signedIn.email, verified: true }
    return {
      ...signedIn,
      account,
      state: '',
      code: 'none',
      link: 'http://localhost:8081/verify?token=none&type=recovery',
    }
  }
  type Browser = Awaited<ReturnType<typeof start>>
  const exchange = (auth_code: string, code_verifier: string) =>
    test.post('/token?grant_type=pkce', { auth_code, code_verifier })
  const events = {
    'GET /authorize': async (to: Browser) => void Object.assign(to, { state: await authorize(test, 'keycloak') }),
    'GET /authorize with PKCE': async (to: Browser) =>
      void Object.assign(to, { state: await authorize(test, 'keycloak', pkce) }),
    'GET /user/identities/authorize': async (to: Browser) =>
      void Object.assign(to, { state: await beginLinking(test, 'keycloak', to.headers) }),
    callback: async (to: Browser) => {
      const query = new URLSearchParams({ state: to.state, code: toCode(to.account) })
      Object.assign(to, { code: codeIn(await test.app.inject(`/callback?${query}`)) ?? to.code })
    },
    'the provider refuses': ({ state }: Browser) =>
      test.app.inject(`/callback?${new URLSearchParams({ state, error: 'access_denied' })}`),
    'a message with a PKCE pair': async (to: Browser) => {
      await test.deps.db.deleteFrom('send_throttle').execute()
      await test.post('/recover', { email: to.email, ...pkce })
      const { link } = await test.readMail(to.email)
      Object.assign(to, { link: link.href })
    },
    'its link': async (to: Browser) => {
      const { pathname, search } = new URL(to.link)
      Object.assign(to, { code: codeIn(await test.app.inject(`${pathname}${search}`)) ?? to.code })
    },
    'exchange with the right verifier': ({ code }: Browser) => exchange(code, verifier),
    'exchange with a wrong verifier': ({ code }: Browser) => exchange(code, randomBytes(32).toString('hex')),
    'three days pass': () =>
      watched.change(TABLE, `SET created_at = '${new Date(now - 3 * 86_400_000).toISOString()}'`),
    'clean-up': () => cleanUp({ ...test.deps, countRows: () => {}, places: new Map() }),
    'all sessions of the user have ended': ({ headers }: Browser) => test.post('/logout?scope=global', {}, headers),
  }
  const ways = [
    [],
    ['GET /authorize'],
    ['GET /authorize', 'three days pass'],
    ['GET /authorize with PKCE'],
    ['GET /authorize with PKCE', 'the provider refuses'],
    ['GET /authorize with PKCE', 'the provider refuses', 'three days pass'],
    ['GET /authorize with PKCE', 'callback'],
    ['GET /authorize with PKCE', 'callback', 'three days pass'],
    ['GET /user/identities/authorize'],
    ['a message with a PKCE pair'],
    ['a message with a PKCE pair', 'three days pass'],
    ['a message with a PKCE pair', 'its link'],
  ]
  const found = await watched.explore(events, ways, start)
  expect(found.get(TABLE)).toEqual([...new Set(drawn)].sort())
  await watched.close()
  await test.close()
  await provider.close()
})
