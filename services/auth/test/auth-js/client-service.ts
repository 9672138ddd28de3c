import { AuthClient, type GoTrueClientOptions } from '@supabase/auth-js'
import { expect } from 'vitest'
import type { AuthDeps } from '../../src/deps.ts'
import { OPERATOR } from '../forged-token.ts'
import { type MailApp, openMailApp } from '../mail-app.ts'

type Client = InstanceType<typeof AuthClient>

/** The service on a real port, and the published JavaScript client that calls it. */
export interface ClientService extends Pick<MailApp, 'app' | 'deps' | 'readMail' | 'sms' | 'idle'> {
  /** Creates a client on a new device without a session. */
  newClient(options?: GoTrueClientOptions): Client
  /** The client of an operator. */
  readonly admin: Client['admin']
  /** Opens a mail link like a browser, presses the button of a page if there is one, and returns the target. */
  open(link: URL | string): Promise<URL>
  close(): Promise<void>
}

/** @param replace further dependencies that replace the real ones */
export async function openClientService(
  settings: Readonly<Record<string, string>> = {},
  replace: () => Partial<AuthDeps> = () => ({}),
): Promise<ClientService> {
  const service = await openMailApp(
    {
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_SMTP_MAX_FREQUENCY: '0',
      AUTH_SMS_MAX_FREQUENCY: '0',
      AUTH_URI_ALLOW_LIST: 'https://app.example.com/**',
      ...settings,
    },
    // The client compares token times with its own clock.
    { replace: () => ({ ...replace(), now: () => new Date() }) },
  )
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
  const problems: string[] = []
  const watchedFetch: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init)
    const found = headerProblems(answer.headers, answer.status, await answer.clone().text())
    problems.push(...found.map((problem) => `${init?.method} ${input}: ${problem}`))
    return answer
  }
  const newClient = (options: GoTrueClientOptions = {}): Client =>
    new AuthClient({ url, autoRefreshToken: false, persistSession: false, fetch: watchedFetch, ...options })
  return {
    ...service,
    newClient,
    admin: newClient({ headers: { Authorization: OPERATOR.authorization } }).admin,
    open: async (link) => {
      const { pathname, search } = new URL(link)
      const opened = await fetch(`${url}${pathname}${search}`, { redirect: 'manual' })
      const answer = opened.ok ? await fetch(`${url}${pathname}`, submission(await opened.text())) : opened
      return new URL(answer.headers.get('location') ?? 'about:blank')
    },
    close: async () => {
      await service.close()
      expect(problems).toEqual([])
    },
  }
}

/** The request that the button of a page sends. */
function submission(html: string): RequestInit {
  const inputs = [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
  const body = new URLSearchParams(Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, value])))
  return { method: 'POST', body, redirect: 'manual' }
}

/** Returns the promised headers that a response lacks (reference: Response headers). */
function headerProblems(headers: Headers, status: number, body: string): readonly string[] {
  const wanted = {
    'x-request-id': /^[0-9a-f-]{36}$/,
    'x-content-type-options': /^nosniff$/,
    ...(status >= 400 ? { 'x-supabase-api-version': /^2024-01-01$/ } : {}),
    ...(status === 429 || status === 503 ? { 'retry-after': /^\d+$/ } : {}),
    // The response contains a session or a user.
    ...(/"(access_token|aud)":/.test(body) ? { 'cache-control': /^no-store$/, pragma: /^no-cache$/ } : {}),
  }
  return Object.entries(wanted)
    .filter(([name, value]) => !value.test(headers.get(name) ?? ''))
    .map(([name]) => `${name} is ${headers.get(name)}`)
}

let people = 0

/** Credentials of a new user. A few passwords are used in turn, because each is hashed only once. */
export function newCredentials() {
  people += 1
  return {
    email: `user${people}@example.com`,
    phone: `1415555${1_000 + people}`,
    password: `correct horse ${people % 4}`,
  }
}

/** The result of any client call. */
interface Answer {
  readonly data: unknown
  readonly error: Error | null
}

/** Returns the data of a result, or throws its error. */
export function dataOf<Given extends Answer>(answer: Given): Extract<Given, { readonly error: null }>['data'] {
  if (answer.error) throw answer.error
  return answer.data
}
