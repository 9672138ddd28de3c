import type { Server } from '@trestle/common/server/create-server.ts'
import { Secret, TOTP } from 'otpauth'
import { PASSWORD } from './services.ts'

export interface SeenPage {
  /** The status of the first answer: 303 if the browser was redirected to the page. */
  readonly firstStatus: number
  readonly status: number
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly html: string
  /** The text of its part `main`, as a reader sees it. */
  readonly text: string
}

/**
 * A browser without script: it keeps cookies, follows redirects, and sends forms of its page. It follows no other redirect
 * than 303, so a page of another path than that of the form proves one.
 */
export interface TestBrowser {
  readonly page: () => SeenPage
  readonly open: (path: string, headers?: Readonly<Record<string, string>>) => Promise<SeenPage>
  /** Sends the form of the page with this action, with its hidden fields. */
  readonly submit: (action: string, fields?: FormFields) => Promise<SeenPage>
  /** Sends a form that need not be on the page. */
  readonly post: (path: string, fields: FormFields, origin?: string) => Promise<SeenPage>
  /** Sends the form of the page with this action, with a file after its fields. */
  readonly upload: (action: string, fields: Readonly<Record<string, string>>, file: UploadedFile) => Promise<SeenPage>
  readonly cookies: Map<string, string>
}

export interface UploadedFile {
  readonly name: string
  readonly text: string
}

/** Pairs may have a name several times. */
export type FormFields = Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[]

const REDIRECTS_MAX = 5

export function openBrowser(app: Server, origin: string): TestBrowser {
  const cookies = new Map<string, string>()
  let seen: SeenPage = { firstStatus: 0, status: 0, path: '', headers: {}, html: '', text: '' }
  const request = async (method: 'GET' | 'POST', path: string, more: Sent, redirects = 0): Promise<SeenPage> => {
    const answer = await app.inject({
      method,
      url: path,
      cookies: Object.fromEntries(cookies),
      headers: more.headers ?? {},
      ...(more.body === undefined ? {} : { payload: more.body }),
    })
    for (const { name, value, maxAge } of answer.cookies) {
      if (value === '' || maxAge === 0) cookies.delete(name)
      else cookies.set(name, value)
    }
    const { location } = answer.headers
    if (answer.statusCode === 303 && location && redirects < REDIRECTS_MAX) {
      await request('GET', location, {}, redirects + 1)
      seen = { ...seen, firstStatus: answer.statusCode }
      return seen
    }
    const { statusCode: status, headers, body: html } = answer
    seen = { firstStatus: status, status, path, headers, html, text: textOf(html) }
    return seen
  }
  const post: TestBrowser['post'] = (path, fields, from = origin) =>
    request('POST', path, {
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: from },
      body: bodyOf(fields),
    })
  return {
    cookies,
    page: () => seen,
    open: (path, headers = {}) => request('GET', path, { headers }),
    submit: (action, fields = {}) => {
      const given = pairsOf(fields)
      const hidden = pairsOf(hiddenFields(seen.html, action))
      return post(action, [...hidden.filter(([name]) => given.every(([other]) => other !== name)), ...given])
    },
    post,
    upload: (action, fields, { name, text }) => {
      const all = Object.entries({ ...hiddenFields(seen.html, action), ...fields })
      const parts = all.map(
        ([field, value]) => `--part\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
      )
      const file = `--part\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n${text}\r\n`
      return request('POST', action, {
        headers: { 'content-type': 'multipart/form-data; boundary=part', origin },
        body: `${parts.join('')}${file}--part--\r\n`,
      })
    },
  }
}

function bodyOf(fields: FormFields): string {
  const body = new URLSearchParams()
  for (const [name, value] of pairsOf(fields)) body.append(name, value)
  return body.toString()
}

function pairsOf(fields: FormFields): readonly (readonly [string, string])[] {
  return isPairs(fields) ? fields : Object.entries(fields)
}

function isPairs(fields: FormFields): fields is Extract<FormFields, readonly unknown[]> {
  return Array.isArray(fields)
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** How a browser came to a page: the status of the first answer, and the path of the page. */
export const wayTo = ({ firstStatus, path }: SeenPage): readonly [number, string] => [firstStatus, path]

/** The hidden fields of the form with an action. @throws Error when the page has no such form */
export function hiddenFields(page: string, action: string): Record<string, string> {
  const escaped = action.replaceAll('&', '&amp;')
  const form = page.split('<form').find((part) => part.includes(`action="${escaped}"`))
  if (form === undefined) throw new Error(`the page has no form ${action}`)
  const [inside = ''] = form.split('</form>')
  return Object.fromEntries(
    [...inside.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [
      name,
      decodeEntities(value),
    ]),
  )
}

/** The content of the part `main` of a page, on one line. */
function textOf(page: string): string {
  const [, main = ''] = /<main[^>]*>(.*)<\/main>/s.exec(page) ?? []
  return plainText(main)
}

/** The text of the card or notice of a page with a heading, on one line. @throws Error when the page has none */
export function cardOf({ html }: Pick<SeenPage, 'html'>, heading: string): string {
  const parts = html.split(/(?=<section class="card"|<div class="notice)/)
  const card = parts.find((part) => part.includes(`<h2>${heading}</h2>`))
  if (card === undefined) throw new Error(`the page has no card ${heading}`)
  const [inside = ''] = card.split(card.startsWith('<section') ? '</section>' : '</div></div>')
  return plainText(inside)
}

/** The text of a part of a page, as a reader sees it, on one line. */
export function plainText(html: string): string {
  return decodeEntities(html.replaceAll('<wbr>', '').replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&#39;': "'",
  '&quot;': '"',
  '&lt;': '<',
  '&gt;': '>',
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:amp|#39|quot|lt|gt);/g, (entity) => ENTITIES[entity] ?? '')
}

export async function signIn(browser: TestBrowser, email: string, password = PASSWORD): Promise<SeenPage> {
  await browser.open('/sign-in')
  return browser.submit('/sign-in', { email, password })
}

const STEP_MS = 30_000

/** Begins to set up an authenticator app. @returns the codes of the app, a new one for each step of 30 s */
export async function setUpFactor(browser: TestBrowser): Promise<(steps: number) => string> {
  const page = await browser.submit('/sign-in/factors')
  const [, secret = ''] = /<code class="secret">([A-Z2-7]+)<\/code>/.exec(page.html) ?? []
  const app = new TOTP({ secret: Secret.fromBase32(secret) })
  return (steps) => app.generate({ timestamp: Date.now() + steps * STEP_MS })
}
