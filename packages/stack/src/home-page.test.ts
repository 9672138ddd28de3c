import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createContext, runInContext } from 'node:vm'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { renderGuide, startHomePage } from './home-page.ts'
import type { LocalServer } from './local-server.ts'
import { planStack } from './settings/plan.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

let home: LocalServer
beforeAll(async () => {
  home = await startHome([])
})
afterAll(() => home.close())

function startHome(names: readonly string[]): Promise<LocalServer> {
  const env = { AUTH_METRICS_ENABLED: 'false' }
  const plan = planStack({ root: ROOT, program: 'main.ts', env, names, isWatched: false })
  return startHomePage({ ...plan, homePort: 0 })
}

function call(path: string, { method = 'GET', host = `localhost:${home.port}` } = {}) {
  return new Promise<{ readonly status: number | undefined; readonly body: string }>((resolve) => {
    request({ port: home.port, host: '127.0.0.1', path, method, headers: { host } }, async (response) => {
      resolve({ status: response.statusCode, body: await text(response) })
    }).end()
  })
}

it('200: links to everything that runs', async () => {
  const { status, body } = await call('/?code=1')
  expect(status).toBe(200)
  expect([...body.matchAll(/<a href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
    'http://localhost:8081',
    'http://localhost:8081/docs',
    'http://localhost:8082',
    'http://localhost:8082/docs',
    'http://localhost:9101/',
    'http://localhost:8080',
    'http://localhost:8080/docs',
    'http://localhost:9102/',
    'http://localhost:8084',
    'http://localhost:9103/',
    'http://localhost:8025',
    '/docs/quick-start/sign-in-a-user.md',
    '/docs/quick-start/take-a-payment.md',
    '/docs/quick-start/reserve-stock.md',
  ])
  expect([...body.matchAll(/<code id[^>]*>(.*?)<\/code>/g)].map(([, command]) => command)).toEqual([
    'npx node examples/sign-up.ts',
    'npx node examples/list-stock.ts',
    'npx node examples/shop/server.ts',
    'npm start -- status',
    'npm start -- logs',
    'npm start -- stop',
    'npm <span>-s</span> run payments -- <span>-c</span> .data/payments.env listen <span>--forward-to</span> localhost:3000/hook',
  ])
})

it('200: names mail only where a service sends it', async () => {
  const small = await startHome(['inventory'])
  const body = await (await fetch(`http://localhost:${small.port}/`)).text()
  await small.close()
  expect([...body.matchAll(/<h2>([^<]+)/g)].map(([, heading]) => heading)).toEqual([
    'Open',
    'Read, with curl and TypeScript',
    'Try an example',
    'In a terminal',
  ])
  expect(body).not.toMatch(/payments|sign-in-a-user/)
})

it.each([
  ['/favicon.ico', {}, 404, 'Not found. The page of the stack is at http://localhost:8083/\n'],
  ['/', { method: 'POST' }, 405, 'Only GET\n'],
  ['/', { host: 'evil.example' }, 421, 'Ask for localhost\n'],
])('answers %s with %j by %d', async (path, options, status, body) => {
  expect(await call(path, options)).toEqual({ status, body })
})

it('200: shows a document of the checkout as a page', async () => {
  const answer = await call('/docs/quick-start/reserve-stock.md')
  expect(answer).toEqual({ status: 200, body: (await renderGuide(ROOT, '/docs/quick-start/reserve-stock.md'))?.html })
})

it('404: shows a browser a page that links to the start page', async () => {
  const answer = await fetch(`http://localhost:${home.port}/sign-in`, { headers: { accept: 'text/html' } })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  expect(await answer.text()).toContain(
    '<h1>Not found</h1></div><p>This address has no page. The start page links to everything that runs.</p>',
  )
})

/** A fake page element with only the members that the script of the page uses. */
class FakeElement {
  readonly name: string
  readonly children: FakeElement[] = []
  readonly classList = new Set<string>()
  readonly dataset: Record<string, string> = {}
  id = ''
  textContent = ''
  href = ''
  hidden = true
  constructor(name: string) {
    this.name = name
  }
  setAttribute() {}
  appendChild(child: FakeElement): FakeElement {
    this.children.push(child)
    return child
  }
}

/** Runs the script of the page at an address. Returns the lines that it shows, and the address that it sets. */
async function arriveAt(address: string) {
  const { body } = await call('/')
  const script = /<script>([\s\S]*)<\/script>/.exec(body)?.[1] ?? ''
  const place = new FakeElement('div')
  const left: string[] = []
  const { search, hash, pathname } = new URL(address, 'http://localhost:8083')
  const page = {
    location: { search, hash, pathname },
    history: { replaceState: (_state: unknown, _title: string, url: string) => left.push(url) },
    document: {
      body: new FakeElement('body'),
      querySelectorAll: () => [],
      getElementById: () => place,
      createElement: (name: string) => new FakeElement(name),
    },
    ...{ URLSearchParams, TextDecoder, Uint8Array, atob },
  }
  runInContext(script, createContext(page))
  const lines = place.children.map(({ name, textContent, children }) => {
    const parts = name === 'p' ? children.map(showPart).join('') : ''
    const copied = name === 'div' ? children.map(showCopied).join(', ') : ''
    return `${name}: ${textContent}${parts}${copied}`
  })
  return {
    isShown: !place.hidden,
    isBad: place.classList.has('bad'),
    lines,
    left,
    details: place.children.find(({ name }) => name === 'details')?.children,
  }
}

function showPart({ name, textContent, href }: FakeElement): string {
  if (name === 'a') return `[${textContent}](${href})`
  return name === 'code' ? `<${textContent}>` : textContent
}

function showCopied({ name, id, textContent, dataset }: FakeElement): string {
  if (name === 'h3') return textContent
  return name === 'button' ? `${textContent} of ${dataset.copy}` : `${id}: ${textContent}`
}

it('shows who has arrived by a link of a mail, with the tokens, and removes them from the address', async () => {
  const claims = { sub: 'id', email: 'ada@example.com', name: 'Ådå' }
  const token = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`
  const arrival = await arriveAt(`/#access_token=${token}&refresh_token=again&type=signup&token_type=bearer`)
  const { details, ...shown } = arrival
  expect(shown).toEqual({
    isShown: true,
    isBad: false,
    left: ['/'],
    lines: [
      'h2: You are signed in',
      'p: Your address is confirmed. This is the session of ada@example.com.',
      'p: To have a link end in your own page, pass <emailRedirectTo> (any port of <http://localhost>), or set <AUTH_SITE_URL> in <.env> and start again.',
      'details: ',
    ],
  })
  expect(details?.flatMap(({ textContent, children }) => [textContent, ...children.map(showCopied)])).toEqual([
    'Access token, its claims, and refresh token',
    ...['', 'Access token', 'Copy of access-token', `access-token: ${token}`],
    ...['', 'Claims', 'Copy of claims', `claims: ${JSON.stringify(claims, null, 2)}`],
    ...['', 'Refresh token', 'Copy of refresh-token', 'refresh-token: again'],
  ])
})

it.each([
  [
    '/?code=123',
    false,
    [
      'h2: A code has arrived',
      'p: It is not a session yet. The app that began this sign-in kept a secret, its code verifier (PKCE), and this page does not have it.',
      'p: The app exchanges both for a session: <POST /token?grant_type=pkce> with <auth_code> and <code_verifier>.',
      'div: Code, Copy of code, code: 123',
    ],
  ],
  [
    '/?error=access_denied#error=access_denied&error_code=otp_expired&error_description=Link+is+invalid',
    true,
    [
      'h2: The sign-in did not work',
      'p: Link is invalid (otp_expired)',
      'p: A link works once, and not for long. Ask for a new mail. It arrives in the [mail catcher](http://localhost:8025).',
    ],
  ],
  ['/#message=Confirm+the+other+address', false, ['h2: Almost done', 'p: Confirm the other address']],
])('shows what else auth sends to %s', async (address, isBad, lines) => {
  expect(await arriveAt(address)).toEqual({ isShown: true, isBad, lines, left: ['/'] })
})

it('shows nothing to a person who only opens the page', async () => {
  expect(await arriveAt('/')).toEqual({ isShown: false, isBad: false, lines: [], left: [], details: undefined })
})
