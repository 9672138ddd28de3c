import { AuthClient, type GoTrueClientOptions } from '@supabase/auth-js'
import { forgeBearer } from '../forged-token.ts'
import { type MailApp, openMailApp } from '../mail-app.ts'

type Client = InstanceType<typeof AuthClient>

/** The service behind a real port, and the published JavaScript client that calls it. */
export interface ClientService extends Pick<MailApp, 'deps' | 'readMail' | 'sms' | 'idle'> {
  /** A new device: nobody is signed in. */
  newClient(options?: GoTrueClientOptions): Client
  /** The client of an operator. */
  readonly admin: Client['admin']
  /** Opens the link of a mail, as a browser does, and returns where it leads. */
  open(link: URL | string): Promise<URL>
  close(): Promise<void>
}

const { authorization: OPERATOR } = { authorization: forgeBearer({ role: 'service_role' }) }

export async function openClientService(settings: Readonly<Record<string, string>> = {}): Promise<ClientService> {
  const service = await openMailApp(
    {
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_SMTP_MAX_FREQUENCY: '0',
      AUTH_SMS_MAX_FREQUENCY: '0',
      AUTH_URI_ALLOW_LIST: 'https://app.example.com/**',
      ...settings,
    },
    // The client compares the times of tokens with its own clock.
    { replace: () => ({ now: () => new Date() }) },
  )
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
  const newClient = (options: GoTrueClientOptions = {}): Client =>
    new AuthClient({ url, autoRefreshToken: false, persistSession: false, ...options })
  return {
    ...service,
    newClient,
    admin: newClient({ headers: { Authorization: OPERATOR } }).admin,
    open: async (link) => {
      const { pathname, search } = new URL(link)
      const answer = await fetch(`${url}${pathname}${search}`, { redirect: 'manual' })
      return new URL(answer.headers.get('location') ?? 'about:blank')
    },
  }
}

let people = 0

/** Somebody whom nobody knows yet. */
export function newPerson() {
  people += 1
  return {
    email: `person${people}@example.com`,
    phone: `1415555${1_000 + people}`,
    password: `correct horse ${people}`,
  }
}

/** What every call of the client resolves with. */
interface Answer {
  readonly data: unknown
  readonly error: Error | null
}

/** What a call gives; a failure ends the test with its words. */
export function dataOf<Given extends Answer>(answer: Given): Extract<Given, { readonly error: null }>['data'] {
  if (answer.error) throw answer.error
  return answer.data
}
