import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { GoTrueClientOptions } from '@supabase/auth-js'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { compileGlob } from '../../src/flows/glob.ts'
import { type ClientService, openClientService } from './client-service.ts'

// Examples in documents that use the published client. They run exactly as written.

const QUICK_START = documentOf('docs/quick-start/sign-in-a-user.md')
const [, PAGE = ''] = /^```html\n(.*?)^```$/ms.exec(QUICK_START) ?? []
const [, STRICT_SETTINGS = ''] = /^```sh\n(AUTH_PROFILE=.*?)^```$/ms.exec(QUICK_START) ?? []

const service = await openClientService()
/** The settings of the quick start, with the proxies of `npm start`. */
const strictService = await openClientService({
  AUTH_URI_ALLOW_LIST: '',
  AUTH_TRUSTED_PROXIES: '127.0.0.0/8',
  ...parseEnv(STRICT_SETTINGS),
})
afterAll(() => Promise.all([service.close(), strictService.close()]))
afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const Tokens = z.object({ access_token: z.string(), refresh_token: z.string() }).partial()

function documentOf(path: string): string {
  return readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')
}

/** Runs the TypeScript of a document with clients of the tested service. @returns its output */
async function runExample(document: string): Promise<readonly unknown[]> {
  const [, code = ''] = /^```ts\nimport \{ AuthClient \} from '@supabase\/auth-js'\n(.*?)^```$/ms.exec(document) ?? []
  const printed: unknown[] = []
  const names = ['AuthClient', 'codeOfMail', 'console', 'process']
  const example = new Function(...names, `return (async () => {${code}})()`)
  const open = function AuthClient({ url }: { readonly url: string }) {
    expect(url).toBe('http://localhost:8081')
    return service.newClient()
  }
  const codeOfMail = async (email: string) => (await service.readMail(email)).code
  const process = { env: { AUTH_URL: 'http://localhost:8081' } }
  await example(open, codeOfMail, { log: (line: unknown) => printed.push(line) }, process)
  return printed
}

it('README.md signs a user up, in and out', async () => {
  expect(await runExample(documentOf('README.md'))).toEqual([expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)])
})

it('the quick start signs a user in, by curl and by the client', async () => {
  const known: Record<string, string | undefined> = {}
  const commands = [...QUICK_START.matchAll(/^curl "\$AUTH_URL([^\s"]+)"( .*)?$/gm)]
  for (const [, path = '', options = ''] of commands) {
    if (options.includes('<code>')) known.code = (await service.readMail('quick@example.com')).code
    const filled = options.replaceAll(/<(\w+)>/g, (_, name: string) => known[name] ?? expect.fail(name))
    const [, name = '', value = ''] = /-H '([^:]+): ([^']+)'/.exec(filled) ?? []
    const body = / -d '(.*)'$/.exec(filled)?.[1]
    const answer = await service.app.inject({
      method: body === undefined ? 'GET' : 'POST',
      url: path,
      headers: { [name]: value },
      ...(body === undefined ? {} : { payload: body }),
    })
    expect([path, answer.statusCode]).toEqual([path, 200])
    Object.assign(known, Tokens.parse(answer.json()))
  }
  expect(commands).toHaveLength(QUICK_START.match(/^curl /gm)?.length ?? 0)
  expect(await runExample(QUICK_START)).toEqual(['quick@example.com'])
})

/** The part of a page element that the script uses. */
interface PageElement {
  value: string
  hidden: boolean
  textContent: string
  onclick?: () => void
  onsubmit?: (event: { readonly preventDefault: () => void }) => void
}

/** The storage that a browser keeps when a page is reloaded. */
function newStorage(): NonNullable<GoTrueClientOptions['storage']> {
  const kept = new Map<string, string>()
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  }
}

type Profile = 'compatible' | 'strict'

let browsers = 0

/** The service in a profile, and a browser with storage and the page of the quick start for that profile. */
function newBrowser(profile: Profile) {
  const called = profile === 'strict' ? strictService : service
  const page = PAGE.replace('const strict = false\n', profile === 'strict' ? 'const strict = true\n' : '$&')
  expect(page === PAGE).toBe(profile === 'compatible')
  browsers += 1
  // A client sends its events to all clients with its storage key. Here these are the pages of the same browser.
  const kept = { storage: newStorage(), storageKey: `browser ${browsers}` }
  const newClient = (options: GoTrueClientOptions) => called.newClient({ ...options, ...kept })
  return { ...called, load: (href: string) => loadPage({ href, page, newClient }) }
}

interface LoadedPage extends Pick<ClientService, 'newClient'> {
  readonly href: string
  readonly page: string
}

/** Loads the page of the quick start at a URL: runs its script with the elements of its HTML. */
async function loadPage({ href, page, newClient }: LoadedPage) {
  const elements = new Map(
    [...page.matchAll(/ id="([\w-]+)"( hidden)?/g)].map(([, id = '', hidden]) => [
      id,
      { value: '', hidden: hidden !== undefined, textContent: '' } as PageElement,
    ]),
  )
  const at = (id: string) => elements.get(id) ?? expect.fail(`no element ${id}`)
  const location = new URL(href)
  const history = {
    replaceState: (_state: unknown, _title: string, to: string) => (location.href = new URL(to, href).href),
  }
  const document = { getElementById: at, visibilityState: 'visible', addEventListener: () => undefined }
  const warnings: string[] = []
  const globals = { location, history, document, console: { ...console, warn: (text: string) => warnings.push(text) } }
  vi.stubGlobal('window', { ...globals, addEventListener: () => undefined, removeEventListener: () => undefined })
  vi.stubGlobal('document', document)
  // After a reload, the library warns about two clients in one page.
  vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  const open = function AuthClient({ url, ...options }: GoTrueClientOptions) {
    expect(url).toBe('http://localhost:8081')
    return newClient(options)
  }
  const [, script = ''] =
    /<script type="module">\s+import \{ AuthClient \} from '@supabase\/auth-js'\n(.*)<\/script>/s.exec(page) ?? []
  const names = ['AuthClient', ...Object.keys(globals)]
  await new Function(...names, `return (async () => {${script}})()`)(open, ...Object.values(globals))
  const fill = (values: Readonly<Record<string, string>>) => {
    for (const [id, value] of Object.entries(values)) at(id).value = value
  }
  const visible = () => ['visitor', 'by-code', 'user', 'choose', 'current'].filter((id) => !at(id).hidden)
  return {
    location,
    warnings,
    /** Fills in fields by their ids, and presses a button. */
    click: (id: string, values: Readonly<Record<string, string>> = {}) => {
      fill(values)
      at(id).onclick?.()
    },
    submit: (id: string, values: Readonly<Record<string, string>>) => {
      fill(values)
      at(id).onsubmit?.({ preventDefault: () => undefined })
    },
    /** Waits until the page shows a user (or none), a message, and the given hidden parts. */
    shows: (name: string, message: string, parts: readonly string[] = []) =>
      vi.waitFor(() => {
        expect([at('name').textContent, at('username').value]).toEqual([name, name])
        expect([at('message').textContent, ...visible()]).toEqual([message, name === '' ? 'visitor' : 'user', ...parts])
      }, 5_000),
  }
}

const SIGNED_UP = 'If the address is new, follow the link of the mail. Otherwise sign in.'
const CHANGED = 'The password is changed.'
const REFUSED = 'Invalid login credentials'
const [FIRST, SECOND, THIRD] = ['a staple of batteries', 'a horse of batteries', 'the staple of a horse']

it.each(['compatible', 'strict'] as const)(
  '%s: the page signs a user up, in and out, and shows what fails',
  async (profile) => {
    const isStrict = profile === 'strict'
    const email = 'page@example.com'
    const browser = newBrowser(profile)
    const page = await browser.load('http://localhost:3000/')
    page.click('sign-up', { email, password: FIRST })
    await page.shows('', SIGNED_UP)
    const { link: first } = await browser.readMail(email)
    page.submit('visitor', {})
    await page.shows('', isStrict ? REFUSED : 'Email not confirmed')
    page.click('resend')
    await page.shows('', 'Follow the link of the newest mail.')
    const { link } = await browser.readMail(email)

    const ended = await newBrowser(profile).load((await browser.open(first)).href)
    await ended.shows('', 'Email link is invalid or has expired')
    expect(ended.location.href).toBe('http://localhost:3000/')
    const landed = await browser.load((await browser.open(link)).href)
    await landed.shows(email, '', isStrict ? ['choose'] : [])
    expect(landed.location.href).toBe('http://localhost:3000/')
    landed.submit('user', { 'new-password': SECOND })
    await landed.shows(email, CHANGED)
    landed.submit('user', { 'new-password': THIRD })
    if (isStrict) {
      await landed.shows(email, 'Current password required when setting new password.', ['current'])
      landed.submit('user', { 'current-password': FIRST })
      await landed.shows(email, 'Current password required when setting new password.', ['current'])
      landed.submit('user', { 'current-password': SECOND })
    }
    await landed.shows(email, CHANGED)

    const reloaded = await browser.load('http://localhost:3000/')
    await reloaded.shows(email, '')
    reloaded.click('sign-out')
    await reloaded.shows('', 'Signed out.')
    reloaded.submit('visitor', { email, password: SECOND })
    await reloaded.shows('', REFUSED)
    reloaded.submit('visitor', { password: THIRD })
    await reloaded.shows(email, '')
    expect(page.warnings).toEqual([])
  },
)

it.each([
  ['compatible', 'sign in, or press "Forgot password".'],
  ['strict', 'enter it, and press "Forgot password" to choose a password.'],
] as const)('%s: a user who opens the link in another browser gets in by "Forgot password"', async (profile, next) => {
  const email = 'elsewhere@example.com'
  const browser = newBrowser(profile)
  const page = await browser.load('http://localhost:3000/')
  page.click('sign-up', { email, password: FIRST })
  await page.shows('', SIGNED_UP)

  const other = newBrowser(profile)
  const confirmed = await other.load((await other.open((await other.readMail(email)).link)).href)
  await confirmed.shows('', `This link signs in only the browser that asked for it. The address is confirmed: ${next}`)
  confirmed.submit('visitor', { email, password: FIRST })
  if (profile === 'strict') await confirmed.shows('', REFUSED)
  else {
    await confirmed.shows(email, '')
    confirmed.click('sign-out')
    await confirmed.shows('', 'Signed out.')
  }
  confirmed.click('forgot', { email })
  await confirmed.shows('', 'If the address has an account, follow the link of the mail in this browser.')

  const recovered = await other.load((await other.open((await other.readMail(email)).link)).href)
  await recovered.shows(email, '', ['choose'])
  recovered.submit('user', { 'new-password': SECOND })
  await recovered.shows(email, CHANGED)
  page.submit('visitor', { email, password: SECOND })
  await page.shows(email, '')
})

it.each([
  ['compatible', []],
  ['strict', ['choose']],
] as const)('%s: the page signs a user in by the code of a mail, or by its link', async (profile, parts) => {
  const email = 'mailed@example.com'
  const browser = newBrowser(profile)
  const page = await browser.load('http://localhost:3000/')
  const mailed = 'Follow the link of the mail in this browser, or enter its code.'
  page.click('mail-link', { email: 'no address' })
  await page.shows('', 'Unable to validate email address: invalid format')
  page.click('mail-link', { email })
  await page.shows('', mailed, ['by-code'])
  const { code, link } = await browser.readMail(email)
  page.submit('by-code', { code: code.replace(/./, (digit) => `${(Number(digit) + 1) % 10}`) })
  await page.shows('', 'Token has expired or is invalid', ['by-code'])
  page.submit('by-code', { code })
  await page.shows(email, '', parts)
  page.click('sign-out')
  await page.shows('', 'Signed out.')

  const spent = await newBrowser(profile).load((await browser.open(link)).href)
  await spent.shows('', 'Email link is invalid or has expired')
  page.click('mail-link')
  await page.shows('', mailed, ['by-code'])
  const landed = await browser.load((await browser.open((await browser.readMail(email)).link)).href)
  await landed.shows(email, '', parts)
})

it('the page of the quick start warns when its address is refused, as the quick start says of 127.0.0.1', async () => {
  const page = await newBrowser('compatible').load('http://127.0.0.1:3000/')
  page.click('sign-up', { email: 'refused@example.com', password: FIRST })
  await page.shows('', SIGNED_UP)
  expect(page.warnings).toEqual([
    'emailRedirectTo is refused (not-listed; source=query): the link leads to AUTH_SITE_URL instead',
  ])
  const [, entry = ''] = /`AUTH_URI_ALLOW_LIST=(\S+)`/.exec(QUICK_START) ?? []
  expect(compileGlob(entry).matches('http://127.0.0.1:3000/')).toBe(true)
})

it('the quick start installs what its page imports, and serves it where it says', () => {
  const [, commands = ''] = /^```sh\n(npm init .*?)^```$/ms.exec(QUICK_START) ?? []
  const [, imported = ''] = / from '(@[^']+)'/.exec(PAGE) ?? []
  expect(commands).toBe(`npm init -y\nnpm install ${imported} vite\nnpx vite --port 3000\n`)
})
