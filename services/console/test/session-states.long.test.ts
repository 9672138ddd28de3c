import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'
import { IDLE_MS } from '../src/sessions/session-cipher.ts'
import { setUpFactor, signIn, type TestBrowser } from './browser.ts'
import { openTestConsole, type TestConsole } from './console-app.ts'
import {
  callAsAdmin,
  createUser,
  keyOf,
  PASSWORD,
  type RunningService,
  startService,
  type TestUser,
} from './services.ts'

const [drawn] = diagramsOf(readFileSync(new URL('../src/sessions/README.md', import.meta.url), 'utf8'))
const arrows = [...(drawn?.arrows.keys() ?? [])].sort()

let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth')
  test = await openTestConsole([auth])
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

/** An operator at a browser. */
interface Operator {
  readonly user: TestUser
  readonly browser: TestBrowser
  /** The codes of the authenticator app. Undefined for an operator without one. */
  readonly codeOf: ((steps: number) => string) | undefined
}

async function newOperator(hasApp: boolean): Promise<Operator> {
  const user = await createUser(auth, `${crypto.randomUUID()}@example.com`, 'admin')
  const browser = test.browser()
  if (!hasApp) return { user, browser, codeOf: undefined }
  const earlier = test.browser()
  await signIn(earlier, user.email)
  await earlier.open('/sign-in/factor')
  const codeOf = await setUpFactor(earlier)
  await earlier.submit('/sign-in/factor', { code: codeOf(0) })
  return { user, browser, codeOf }
}

const STATES = new Map([
  [undefined, 'signed_in'],
  ['/sign-in/factor', 'needs_factor'],
  ['/sign-in?ended=1', 'over'],
])

/** The state of the session in the cookie. A poll is no use, and the browser does not hear of its answer. */
async function stateOf({ browser }: Pick<Operator, 'browser'>, { app }: Pick<TestConsole, 'app'> = test) {
  if (browser.cookies.size === 0) return 'none'
  const { headers } = await app.inject({
    url: '/',
    cookies: Object.fromEntries(browser.cookies),
    headers: { 'x-trestle-poll': '1' },
  })
  return STATES.get(headers.location) ?? `leads to ${headers.location}`
}

/** The hidden fields of the forms of the page that the browser has. */
function proofOf({ browser }: Operator): Record<string, string> {
  const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(browser.page().html) ?? []
  return { _csrf: csrf, _key: crypto.randomUUID() }
}

const giveCode = (operator: Operator, code: string) =>
  operator.browser.post('/sign-in/factor', { ...proofOf(operator), code })

const EVENTS = {
  'sign-in': async ({ browser, user }: Operator) => {
    // Another sign-in makes another session.
    if (browser.cookies.size === 0) await signIn(browser, user.email)
  },
  'right code': (operator: Operator) => giveCode(operator, operator.codeOf?.(1) ?? '000000'),
  'wrong code': (operator: Operator) => giveCode(operator, 'no code'),
  'a page is opened': ({ browser }: Operator) => browser.open('/'),
  'half an hour without use': async () => test.advance(IDLE_MS),
  'auth ends it': ({ user }: Operator) => auth.query('DELETE FROM auth.sessions WHERE user_id = $1', [user.id]),
  'sign-out': (operator: Operator) => operator.browser.post('/sign-out', proofOf(operator)),
} as const
type Event = keyof typeof EVENTS

/** The ways to the states, none of them twice. */
const WAYS: readonly (readonly Event[])[] = [
  [],
  ['sign-in'],
  ['sign-in', 'half an hour without use'],
  ['sign-in', 'auth ends it'],
]

async function exploreFrom(way: readonly Event[], hasApp: boolean, found: Set<string>): Promise<void> {
  for (const event of Object.values(EVENTS)) {
    const operator = await newOperator(hasApp)
    for (const step of way) await EVENTS[step](operator)
    const before = await stateOf(operator)
    await event(operator)
    const after = await stateOf(operator)
    if (before !== after) found.add(`${before} --> ${after}`)
  }
}

/** Removes the second factor, as an operator with the role admin does. */
async function removeFactor({ user }: Operator): Promise<void> {
  const { email } = await createUser(auth, `${crypto.randomUUID()}@example.com`, 'admin')
  const { access_token: token } = await callAsAdmin(auth, '/token?grant_type=password', { email, password: PASSWORD })
  const [factor] = await auth.query('SELECT id FROM auth.mfa_factors WHERE user_id = $1', [user.id])
  const answer = await fetch(`${auth.url}/operator/users/${user.id}/factors/${factor?.id}`, {
    method: 'DELETE',
    headers: {
      authorization: `Bearer ${token}`,
      'x-trestle-operator-key': keyOf('admin'),
      'idempotency-key': crypto.randomUUID(),
    },
  })
  expect(answer.status).toBe(200)
}

/**
 * Removes the factor of an operator. If every operator needs a second factor, a process without the access token of the session
 * refreshes the session.
 */
async function exploreRemoval(found: Set<string>): Promise<void> {
  const operator = await newOperator(true)
  await EVENTS['sign-in'](operator)
  await EVENTS['right code'](operator)
  const strict = await openTestConsole([auth], { CONSOLE_REQUIRE_MFA: 'yes' })
  const before = await stateOf(operator)
  await removeFactor(operator)
  found.add(`${before} --> ${await stateOf(operator, strict)}`)
  await strict.close()
}

it('a session of the console goes through the arrows of its diagram, and through no others', async () => {
  const found = new Set<string>()
  // This comes first, while the console has the time of auth.
  await exploreRemoval(found)
  for (const way of WAYS) await exploreFrom(way, false, found)
  // A session that is over is the same with an app and without one.
  for (const way of WAYS.slice(0, 2)) await exploreFrom(way, true, found)
  expect([...found].sort()).toEqual(arrows)
})
