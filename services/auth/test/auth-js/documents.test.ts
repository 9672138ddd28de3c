import { readFileSync } from 'node:fs'
import type { GoTrueClientOptions } from '@supabase/auth-js'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { compileGlob } from '../../src/flows/glob.ts'
import { openClientService } from './client-service.ts'

// Examples of documents that use the published client, run as they are written.

const service = await openClientService()
afterAll(() => service.close())
afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const Tokens = z.object({ access_token: z.string(), refresh_token: z.string() }).partial()

function documentOf(path: string): string {
  return readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')
}

/** Runs the TypeScript of a document, with clients of the service under test. @returns what it printed */
async function runExample(document: string): Promise<readonly unknown[]> {
  const [, code = ''] = /^```ts\nimport \{ AuthClient \} from '@supabase\/auth-js'\n(.*?)^```$/ms.exec(document) ?? []
  const printed: unknown[] = []
  const names = ['AuthClient', 'codeOfMail', 'console']
  const example = new Function(...names, `return (async () => {${code}})()`)
  const open = function AuthClient({ url }: { readonly url: string }) {
    expect(url).toBe('http://localhost:8081')
    return service.newClient()
  }
  const codeOfMail = async (email: string) => (await service.readMail(email)).code
  await example(open, codeOfMail, { log: (line: unknown) => printed.push(line) })
  return printed
}

it('README.md signs a user up, in and out', async () => {
  expect(await runExample(documentOf('README.md'))).toEqual([expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)])
})

it('the quick start signs a user in, by curl and by the client', async () => {
  const document = documentOf('docs/quick-start/sign-in-a-user.md')
  const known: Record<string, string | undefined> = {}
  const commands = [...document.matchAll(/^curl "\$AUTH_URL([^\s"]+)"( .*)?$/gm)]
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
  expect(commands).toHaveLength(document.match(/^curl /gm)?.length ?? 0)
  expect(await runExample(document)).toEqual(['quick@example.com'])
})

/** An element of the page, as far as its script uses it. */
interface PageElement {
  value: string
  hidden: boolean
  textContent: string
  onclick?: () => void
  onsubmit?: (event: { readonly preventDefault: () => void }) => void
}

const QUICK_START = documentOf('docs/quick-start/sign-in-a-user.md')
const [, PAGE = ''] = /^```html\n(.*?)^```$/ms.exec(QUICK_START) ?? []

/** What the browser keeps when the page is loaded again. */
function newStorage(): NonNullable<GoTrueClientOptions['storage']> {
  const kept = new Map<string, string>()
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  }
}

/** Loads the page of the quick start at an address: runs its script with the elements of its HTML. */
async function loadPage(href: string, storage: GoTrueClientOptions['storage']) {
  const elements = new Map(
    [...PAGE.matchAll(/ id="([\w-]+)"( hidden)?/g)].map(([, id = '', hidden]) => [
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
  // The client takes a page that is loaded again for a second client of one page.
  vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  const open = function AuthClient({ url, ...options }: GoTrueClientOptions) {
    expect(url).toBe('http://localhost:8081')
    return service.newClient({ ...options, ...(storage && { storage }) })
  }
  const [, script = ''] =
    /<script type="module">\s+import \{ AuthClient \} from '@supabase\/auth-js'\n(.*)<\/script>/s.exec(PAGE) ?? []
  const names = ['AuthClient', ...Object.keys(globals)]
  await new Function(...names, `return (async () => {${script}})()`)(open, ...Object.values(globals))
  return {
    location,
    warnings,
    fill: (id: string, value: string) => Object.assign(at(id), { value }),
    click: (id: string) => at(id).onclick?.(),
    submit: (id: string) => at(id).onsubmit?.({ preventDefault: () => undefined }),
    /** Waits until the page shows a user, or none, and a message. */
    shows: (name: string, message: string) =>
      vi.waitFor(() => expect([at('name').textContent, at('message').textContent]).toEqual([name, message]), 5_000),
    visible: () => ['visitor', 'user'].filter((id) => !at(id).hidden),
  }
}

it('the page of the quick start signs a user up, in and out, and shows what fails', async () => {
  const [email, password] = ['page@example.com', 'a password of 28 characters']
  const storage = newStorage()
  const page = await loadPage('http://localhost:3000/', storage)
  page.fill('email', email)
  page.fill('password', password)
  page.click('sign-up')
  await page.shows('', 'Follow the link of the mail.')
  const { link: first } = await service.readMail(email)
  page.click('resend')
  await page.shows('', 'Follow the link of the newest mail.')
  const { link } = await service.readMail(email)
  expect(link.searchParams.get('redirect_to')).toBe('http://localhost:3000/')

  const ended = await loadPage((await service.open(first)).href, newStorage())
  await ended.shows('', 'Email link is invalid or has expired')
  expect(ended.location.href).toBe('http://localhost:3000/')
  const landed = await service.open(link)
  const elsewhere = await loadPage(landed.href, newStorage())
  await elsewhere.shows('', 'The link was opened in another browser. The address is confirmed: sign in.')
  const signedIn = await loadPage(landed.href, storage)
  await signedIn.shows(email, '')
  expect(signedIn.visible()).toEqual(['user'])
  signedIn.fill('new-password', 'a password of 31 characters now')
  signedIn.submit('user')
  await signedIn.shows(email, 'The password is changed.')

  const reloaded = await loadPage('http://localhost:3000/', storage)
  await reloaded.shows(email, '')
  reloaded.click('sign-out')
  await reloaded.shows('', 'Signed out.')
  expect(reloaded.visible()).toEqual(['visitor'])
  reloaded.fill('email', email)
  reloaded.fill('password', password)
  reloaded.submit('visitor')
  await reloaded.shows('', 'Invalid login credentials')
  reloaded.fill('password', 'a password of 31 characters now')
  reloaded.submit('visitor')
  await reloaded.shows(email, '')
  expect(page.warnings).toEqual([])
})

it('the page of the quick start warns when its address is refused, as the quick start says of 127.0.0.1', async () => {
  const page = await loadPage('http://127.0.0.1:3000/', newStorage())
  page.fill('email', 'refused@example.com')
  page.fill('password', 'a password of 28 characters')
  page.click('sign-up')
  await page.shows('', 'Follow the link of the mail.')
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
