import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SeenPage, TestBrowser } from './browser.ts'
import { openTestConsole, type TestConsole } from './console-app.ts'
import { createUser, PASSWORD, type RunningService, startService } from './services.ts'

// What other sites can have a browser do: send forms, follow links, and show pages in frames. The check of the repository compares the URLs of
// the README with the routes, so the tests here try every page and every form.

let services: readonly RunningService[]
let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth')
  services = [auth, ...(await Promise.all([startService('payments'), startService('inventory')]))]
  test = await openTestConsole(services)
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
/** The paths of a method, with an id of nothing in the place of each parameter. */
const pathsOf = (method: 'GET' | 'POST') =>
  [...readme.matchAll(new RegExp(`\`${method} ([^\`]+)\``, 'g'))].map(([, path = '']) => path.replaceAll(/:\w+/g, '9'))
const FORMS = pathsOf('POST')
/** Nobody is signed in yet where these are sent. */
const OF_STRANGERS: ReadonlySet<string> = new Set(['/sign-in', '/sign-in/link'])
/** Answers for programs, and files. */
const NO_PAGES: ReadonlySet<string> = new Set(['/assets/9', '/health', '/ready'])

const REFUSED =
  '403 Not allowed This form did not come from the console. Open the page again, at the address of the console. Go to the overview'
const proofOf = ({ html }: { readonly html: string }) => /name="_csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''
/** The answer to a form, without the brand of pages for people who are not signed in. */
const send = async (browser: TestBrowser, path: string, { proof, origin }: { proof: string; origin: string }) => {
  const { status, text } = await browser.post(path, { _csrf: proof, _key: 'key', code: '000000' }, origin)
  return [path, status, text.replace('Trestle console ', '')]
}

describe('a form of another site', () => {
  it('403: is refused by its origin at every address, though it has the proof of the session', async () => {
    const browser = await test.signedIn('admin')
    const proof = proofOf(await browser.open('/'))
    const answers: unknown[] = []
    for (const path of FORMS) answers.push(await send(browser, path, { proof, origin: 'https://evil.example' }))
    expect(answers).toEqual(FORMS.map((path) => [path, 403, REFUSED]))
  })

  it('403: is refused with the proof of another session at every address of operators', async () => {
    const [browser, other] = [await test.signedIn('admin'), await test.signedIn('admin')]
    const proof = proofOf(await other.open('/'))
    const ofOperators = FORMS.filter((path) => !OF_STRANGERS.has(path))
    const answers: unknown[] = []
    for (const path of ofOperators) answers.push(await send(browser, path, { proof, origin: test.origin }))
    expect(answers).toEqual(ofOperators.map((path) => [path, 403, REFUSED]))
  })
})

describe('a link of another site', () => {
  it.each(['cross-site', 'same-site'])('leads to the object of a question, and not to its form: %s', async (from) => {
    const browser = await test.signedIn('admin')
    const path = `/users/${(await createUser(auth, `${from}@example.com`)).id}`
    const page = await browser.open(`${path}/ban`, { 'sec-fetch-site': from })
    expect([page.status, page.path]).toEqual([200, path])
  })

  it.each([
    ['/movements/new?type=receive', '/stock'],
    ['/products/new', '/products'],
    ['/locations/new', '/locations'],
    ['/locations/1', '/locations'],
  ])('leads to the page around the form %s', async (path, around) => {
    const browser = await test.signedIn('admin')
    const led = await browser.open(path, { 'sec-fetch-site': 'cross-site' })
    const opened = await browser.open(path, { 'sec-fetch-site': 'none' })
    expect([led.path, opened.status, opened.path]).toEqual([around, 200, path])
  })

  it('leads to a product, and not to the form that changes it', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/products/new')
    const { path } = await browser.submit('/products/new', { sku: 'LED', json: '{}' })
    expect((await browser.open(`${path}/edit`, { 'sec-fetch-site': 'cross-site' })).path).toBe(path)
  })

  it.each(['none', 'same-origin'])('is no link to a question that is %s', async (from) => {
    const browser = await test.signedIn('admin')
    const path = `/users/${(await createUser(auth, `${from}@example.com`)).id}/ban`
    const page = await browser.open(path, { 'sec-fetch-site': from })
    expect([page.status, page.path]).toEqual([200, path])
  })
})

describe('a link of another site to a page', () => {
  const led = (browser: TestBrowser, path: string, from = 'cross-site') =>
    browser.open(path, { 'sec-fetch-site': from })
  const refreshOf = ({ html }: SeenPage) => /<meta http-equiv="refresh" content="0; url=([^"]*)">/.exec(html)?.[1]

  it.each(['cross-site', 'same-site'])('opens the page once more, without script: %s', async (from) => {
    const browser = await test.signedIn('admin')
    const page = await led(browser, '/users?q=%22%3E&sort=9', from)
    const path = '/users?q=%22%3E&amp;sort=9'
    expect([page.status, page.text, refreshOf(page)]).toEqual([200, 'Open the page', path])
    expect(page.html).toContain(`<a href="${path}">Open the page</a>`)
    expect(page.headers['content-security-policy']).toBe("default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
  })

  it('opens each page of operators once more', async () => {
    const browser = await test.signedIn('admin')
    const shown: string[] = []
    for (const path of pathsOf('GET')) {
      const { status, path: opened, html } = await browser.open(path)
      if (status === 200 && opened === path && html.includes('class="side"')) shown.push(path)
    }
    const answers: unknown[] = []
    for (const path of shown) {
      const page = await led(browser, path)
      answers.push([path, page.path === path ? refreshOf(page) : page.path])
    }
    const aroundForms = new Map([
      ['/users/invite', '/users'],
      ['/users/new', '/users'],
      ['/signing-keys/new', '/signing-keys'],
      ['/payouts/run', '/payouts'],
      ['/payouts/export', '/payouts'],
      ['/movements/new', '/stock'],
      ['/products/new', '/products'],
      ['/locations/new', '/locations'],
    ])
    expect(answers).toEqual(shown.map((path) => [path, aroundForms.get(path) ?? path]))
  })

  it.each(['//evil.example', '/%5Cevil.example'])('never leads to another site: %s', async (path) => {
    const browser = await test.signedIn('admin')
    expect(refreshOf(await led(browser, path))).toBeUndefined()
  })
})

describe('a link of another site to a sign-in', () => {
  it('leads to the object of a question, whose form opens from there', async () => {
    const { id } = await createUser(auth, 'linked@example.com')
    await createUser(auth, 'operator@example.com', 'admin')
    const browser = test.browser()
    await browser.open(`/sign-in?next=/users/${id}/ban`, { 'sec-fetch-site': 'cross-site' })
    const page = await browser.submit('/sign-in', { email: 'operator@example.com', password: PASSWORD })
    const question = await browser.open(`/users/${id}/ban`)
    expect([page.status, page.path, question.status, question.path]).toEqual([
      200,
      `/users/${id}`,
      200,
      `/users/${id}/ban`,
    ])
  })
})

describe('a sign-in that was to lead to a form', () => {
  it('opens no form, though the page around a question is one', async () => {
    await createUser(auth, 'led@example.com', 'admin')
    const opened: string[] = []
    const forms = ['/locations/1', '/locations/1/deletion', '/locations/new', '/products/new', '/movements/new']
    for (const path of forms) {
      const browser = test.browser()
      await browser.open(`/sign-in?next=${path}`)
      opened.push((await browser.submit('/sign-in', { email: 'led@example.com', password: PASSWORD })).path)
      expect((await browser.open(path)).path).toBe(path)
    }
    expect(opened).toEqual(['/locations', '/locations', '/locations', '/products', '/stock'])
  })
})

describe('a frame of another site', () => {
  it('is forbidden by every page, also by those that say that nothing is there', async () => {
    const browser = await test.signedIn('admin')
    const pages = pathsOf('GET').filter((path) => !NO_PAGES.has(path))
    const answers: unknown[] = []
    for (const path of pages) {
      const { headers } = await browser.open(path)
      answers.push([path, String(headers['content-security-policy']).includes("frame-ancestors 'none'")])
    }
    expect(answers).toEqual(pages.map((path) => [path, true]))
  })
})
