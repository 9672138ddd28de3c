import {
  type StubAnswer,
  type StubProvider,
  type StubRequest,
  startStubProvider,
} from '@trestle/testing/stub-provider.ts'
import type { TestBrowser } from './browser.ts'
import { openTestConsole, type TestConsole } from './console-app.ts'

/** The answers of a service that a test plays. Undefined: no answer. */
export type StubService = (request: StubRequest) => StubAnswer | undefined

/** A console over services that a test plays. Auth admits one admin, and gives all other answers as the test says. */
export interface StubConsole {
  /** A browser in which the admin is signed in. */
  readonly browser: TestBrowser
  readonly app: TestConsole['app']
  /** The changes that the services received, without the sign-in. */
  readonly changes: () => readonly Pick<StubRequest, 'method' | 'url' | 'body'>[]
  readonly close: () => Promise<void>
}

const USER = '11111111-1111-4111-8111-111111111111'
const SESSION = '22222222-2222-4222-8222-222222222222'
const EMAIL = 'ada@example.com'
const ROLE = 'admin'

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const TOKEN = `${encoded({ alg: 'none' })}.${encoded({ sub: USER, session_id: SESSION, aal: 'aal1', app_metadata: { console_role: ROLE } })}.x`
const TOKENS = { access_token: TOKEN, refresh_token: 'r', expires_at: Math.floor(Date.now() / 1000) + 3_600 }
const ME = { operator: { key: 'k', role: ROLE, actor: { id: USER, email: EMAIL, role: ROLE } } }

/** The answers of auth to a sign-in, by the path. */
const SIGN_IN: Readonly<Record<string, StubAnswer>> = {
  '/token': { body: TOKENS },
  '/user': { body: { factors: [] } },
  '/operator/me': { body: ME },
  '/logout': { status: 204, body: '' },
}

/** The browser is signed in. */
export async function openStubConsole(
  services: Readonly<Partial<Record<'auth' | 'payments' | 'inventory', StubService>>>,
): Promise<StubConsole> {
  const { auth = () => ({ status: 404, body: {} }), ...others } = services
  const played = {
    auth: ((asked) => SIGN_IN[asked.url.split('?')[0] ?? ''] ?? auth(asked)) satisfies StubService,
    ...others,
  }
  const stubs: { readonly name: 'auth' | 'payments' | 'inventory'; readonly stub: StubProvider }[] = []
  for (const [name, answer] of Object.entries(played)) {
    stubs.push({ name: name as keyof typeof played, stub: await startStubProvider(answer) })
  }
  const test = await openTestConsole(stubs.map(({ name, stub }) => ({ name, url: stub.url })))
  const browser = test.browser()
  await browser.open('/sign-in?next=/search')
  await browser.submit('/sign-in', { email: EMAIL, password: 'any' })
  return {
    browser,
    app: test.app,
    changes: () =>
      stubs
        .flatMap(({ stub }) => stub.requests)
        .filter(({ method, url }) => method !== 'GET' && SIGN_IN[url.split('?')[0] ?? ''] === undefined)
        .map(({ method, url, body }) => ({ method, url, body })),
    close: async () => {
      await test.close()
      for (const { stub } of stubs) await stub.close()
    },
  }
}
