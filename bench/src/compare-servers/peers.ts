import { setTimeout as delay } from 'node:timers/promises'
import { createMailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { HOOKS, type HookName, type Json, parseJson } from './step.ts'
import { accountOf, type Issuer, KEY_SET } from './tokens.ts'

export interface SeenMail {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly html: string
  readonly text: string
}

/** Stubs of the servers that auth calls: an SMTP server, hooks, a provider, and mail templates. */
export interface Peers {
  readonly url: string
  readonly smtpPort: number
  /** The address of the provider, as for the settings of Keycloak. */
  readonly realm: string
  answer(hook: HookName, status: number, body: Json): void
  /** Starts a subject: resets all answers, and uses other accounts at the provider. */
  begin(tag: string): void
  /** Resolves to the next mail to an address, within `waitMs`. */
  takeMail(to: string, waitMs: number): Promise<SeenMail | undefined>
  /** Resolves to the payload of the next hook call, within `waitMs`. */
  takeCall(hook: HookName, waitMs: number): Promise<Json | undefined>
  takeRest(): { readonly mails: readonly SeenMail[]; readonly calls: readonly HookName[] }
  close(): Promise<void>
}

/** The variables in the mail templates. */
export const VARIABLES = [
  ...['Token', 'TokenHash', 'ConfirmationURL', 'SiteURL', 'Email', 'NewEmail', 'SendingTo', 'RedirectTo', 'Data'],
  ...['OldEmail', 'Phone', 'OldPhone', 'Provider', 'FactorType'],
]
const POLL_MS = 10
const DEFAULTS: Readonly<Partial<Record<HookName, Json>>> = {
  PASSWORD_VERIFICATION_ATTEMPT: { decision: 'continue' },
  MFA_VERIFICATION_ATTEMPT: { decision: 'continue' },
}

/** Starts the stubs on loopback. @throws Error if a port is taken */
export async function startPeers(ports: { readonly http: number; readonly smtp: number }): Promise<Peers> {
  const mails: SeenMail[] = []
  const calls: { readonly hook: HookName; readonly payload: Json }[] = []
  const answers = new Map<HookName, { readonly status: number; readonly body: Json }>()
  const store = createMailStore(() => new Date())
  const add = async (raw: Buffer, recipients: readonly string[]) => {
    await store.add(raw, recipients)
    const [mail] = store.list()
    if (!mail) return
    const { from, subject, html, text } = mail
    mails.push({ from, subject, to: recipients.join(), html: html ?? '', text: text ?? '' })
  }
  const smtp = await startSmtpListener({ add }, ports.smtp)
  const respond = (request: PeerRequest): Reply => {
    const hook = HOOKS.find((name) => request.path === `/hooks/${name}`)
    if (!hook) return answerOther(request, provider)
    const payload = parseJson(request.body)
    calls.push({ hook, payload })
    return answers.get(hook) ?? usualAnswer(hook, payload)
  }
  const server = await startStubProvider(
    ({ method, url, headers, body }) =>
      respond({ method, path: url.split('?', 1)[0] ?? '', authorization: headers.authorization ?? '', body }),
    ports.http,
  )
  const { url } = server
  const realm = `${url}/realms/test`
  const provider = { realm, tag: '' }
  return {
    url,
    realm,
    smtpPort: smtp.port,
    answer: (hook, status, body) => void answers.set(hook, { status, body }),
    begin: (tag) => {
      provider.tag = tag
      answers.clear()
    },
    takeMail: (to, waitMs) => takeWithin(mails, (mail) => mail.to === to, waitMs),
    takeCall: async (hook, waitMs) => (await takeWithin(calls, (call) => call.hook === hook, waitMs))?.payload,
    takeRest: () => ({ mails: mails.splice(0), calls: calls.splice(0).map(({ hook }) => hook) }),
    close: async () => {
      await smtp.close()
      await server.close()
    },
  }
}

function usualAnswer(hook: HookName, payload: Json): Reply {
  return { status: 200, body: hook === 'CUSTOM_ACCESS_TOKEN' ? payload : (DEFAULTS[hook] ?? {}) }
}

function answerOther(request: PeerRequest, provider: Issuer): Reply {
  const template = request.path.split('/templates/')[1]
  return template === undefined
    ? playProvider(provider, request)
    : { status: 200, headers: { 'content-type': 'text/html' }, body: templateOf(template) }
}

interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: Json
}

/** Removes the first matching item from a list, and waits for it if necessary. */
async function takeWithin<T>(list: T[], matches: (item: T) => boolean, waitMs: number): Promise<T | undefined> {
  for (const deadlineMs = performance.now() + waitMs; ; await delay(POLL_MS)) {
    const index = list.findIndex(matches)
    if (index !== -1) return list.splice(index, 1)[0]
    if (performance.now() >= deadlineMs) return undefined
  }
}

function templateOf(kind: string): string {
  const rows = VARIABLES.map((name) => `<li id="${name}">{{ .${name} }}</li>`)
  return `<h1>${kind}</h1><ul>${rows.join('')}</ul>`
}

interface PeerRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string
  readonly body: string
}

/** Simulates Keycloak. The code is the name of an account, and the access token is the code. */
function playProvider({ realm, tag }: Issuer, { method, path, authorization, body }: PeerRequest): Reply {
  const place = path.slice('/realms/test'.length)
  const base = `${realm}/protocol/openid-connect`
  if (place === '/.well-known/openid-configuration') return { status: 200, body: metadataOf(realm, base) }
  if (place === '/protocol/openid-connect/certs') return { status: 200, body: parseJson(JSON.stringify(KEY_SET)) }
  if (method === 'POST' && place === '/protocol/openid-connect/token') {
    const code = new URLSearchParams(body).get('code') ?? ''
    if (accountOf(code, tag) === undefined)
      return { status: 400, body: { error: 'invalid_grant', error_description: 'bad code' } }
    return {
      status: 200,
      body: { access_token: code, token_type: 'Bearer', expires_in: 300, refresh_token: 'refresh' },
    }
  }
  const account = accountOf(authorization.slice('Bearer '.length), tag)
  if (place === '/protocol/openid-connect/userinfo' && account) return { status: 200, body: account.profile }
  return { status: 404, body: { error: 'not_found' } }
}

function metadataOf(realm: string, base: string): Json {
  return {
    issuer: realm,
    authorization_endpoint: `${base}/auth`,
    token_endpoint: `${base}/token`,
    userinfo_endpoint: `${base}/userinfo`,
    jwks_uri: `${base}/certs`,
    id_token_signing_alg_values_supported: ['RS256'],
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
  }
}
