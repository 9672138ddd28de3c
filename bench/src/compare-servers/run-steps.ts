import { setTimeout as delay } from 'node:timers/promises'
import { fill, fillJson, type Memory, Missing } from './memory.ts'
import { type Peers, type SeenMail, VARIABLES } from './peers.ts'
import {
  type AnswerStep,
  type CallStep,
  type Json,
  type JsonObject,
  type MailStep,
  type Observation,
  parseJson,
  type RequestStep,
  type Round,
  type Step,
  type Subject,
} from './step.ts'

export interface Side {
  readonly url: string
  readonly peers: Peers
  readonly adminToken: string
}

/** How long to wait for mails and hook calls. auth may send them from a queue. */
const WAIT_MS = 3_000
const REST_MS = 1_200

/** Sends the requests of a round to one server, in order. */
export async function runSteps(round: Round, side: Side): Promise<readonly Observation[]> {
  const seen: Observation[] = []
  for (const [index, subject] of round.subjects.entries()) {
    const tag = `s${index + 1}`
    side.peers.begin(tag)
    const kept = new Map<string, Json>([['admin', { access_token: side.adminToken }]])
    const run = new SubjectRun(side, { realm: side.peers.realm, tag, kept })
    const place = placesOf(round, subject)
    for (const step of subject.steps) seen.push(...(await run.take(step)).map(place))
    seen.push(...(await run.takeRest()).map(place))
  }
  return seen
}

type Unplaced = Omit<Observation, 'at' | 'of'> & { readonly step: string }

/** A repeated step gets a number in its place. */
function placesOf(round: Round, subject: Subject): (unplaced: Unplaced) => Observation {
  const counts = new Map<string, number>()
  let answer: string | undefined
  return ({ step, kind, value }) => {
    const count = (counts.get(step) ?? 0) + 1
    counts.set(step, count)
    const at = `${round.name} / ${subject.name} / ${step}${count > 1 ? ` (${count})` : ''}`
    if (kind === 'answer') answer = at
    return { at, kind, value, ...(kind === 'claims' && answer !== undefined && { of: answer }) }
  }
}

class SubjectRun {
  readonly #side: Side
  readonly #memory: Memory

  constructor(side: Side, memory: Memory) {
    this.#side = side
    this.#memory = memory
  }

  async take(step: Step): Promise<readonly Unplaced[]> {
    try {
      if ('pauseMs' in step) await delay(step.pauseMs)
      else if ('answerOf' in step) this.#setAnswer(step)
      else if ('mailTo' in step) return [await this.#takeMail(step)]
      else if ('callOf' in step) return [await this.#takeCall(step)]
      else return await this.#send(step)
      return []
    } catch (error) {
      if (!(error instanceof Missing) || !('name' in step)) throw error
      return [{ step: step.name, kind: 'answer', value: { missing: error.message } }]
    }
  }

  /** Mails and calls that no step has used. Both servers must send the same number. */
  async takeRest(): Promise<readonly Unplaced[]> {
    await delay(REST_MS)
    const { mails, calls } = this.#side.peers.takeRest()
    const rest = { mails: mails.map(({ to, subject }) => `${to}: ${subject}`).sort(), calls: [...calls].sort() }
    return [{ step: 'what is left at the end', kind: 'mail', value: this.#normal(rest) }]
  }

  #setAnswer({ answerOf, status = 200, body }: AnswerStep): void {
    this.#side.peers.answer(answerOf, status, fillJson(body, this.#memory))
  }

  async #takeMail({ name, mailTo, keep }: MailStep): Promise<Unplaced> {
    const mail = await this.#side.peers.takeMail(fill(mailTo, this.#memory), WAIT_MS)
    if (!mail) return { step: name, kind: 'mail', value: 'no mail' }
    const variables = variablesOf(mail)
    if (keep !== undefined) this.#memory.kept.set(keep, { ...variables, ...linkParts(variables.ConfirmationURL) })
    const link = addressJson(String(variables.ConfirmationURL ?? ''))
    const hasTemplate = 'SiteURL' in variables
    const value = {
      from: mail.from,
      to: mail.to,
      subject: mail.subject,
      ...(hasTemplate ? { variables: { ...variables, ConfirmationURL: link } } : { link, hasText: mail.text !== '' }),
    }
    return { step: name, kind: 'mail', value: this.#normal(value) }
  }

  async #takeCall({ name, callOf, keep }: CallStep): Promise<Unplaced> {
    const payload = await this.#side.peers.takeCall(callOf, WAIT_MS)
    if (payload === undefined) return { step: name, kind: 'hook', value: 'no call' }
    if (keep !== undefined) this.#memory.kept.set(keep, payload)
    return { step: name, kind: 'hook', value: this.#normal(payload) }
  }

  async #send(step: RequestStep): Promise<readonly Unplaced[]> {
    const sends = Array.from({ length: step.times ?? 1 }, () => this.#sendOnce(step))
    const answers = await Promise.all(sends)
    if (step.times !== undefined) {
      // These requests run in parallel, so their order is random.
      const value = answers.map(({ shown }) => this.#normal(shown)).sort(byText)
      return [{ step: step.name, kind: 'answer', value }]
    }
    return answers.flatMap(({ shown, body }): readonly Unplaced[] => {
      if (step.keep !== undefined) this.#memory.kept.set(step.keep, body)
      const claims = claimsOf(body.access_token)
      const answer: Unplaced = { step: step.name, kind: 'answer', value: this.#normal(shown) }
      if (claims === undefined) return [answer]
      return [answer, { step: `${step.name}: claims`, kind: 'claims', value: this.#normal(claims) }]
    })
  }

  async #sendOnce({ send, body, headers = {}, as }: RequestStep) {
    const [method = '', path = ''] = fill(send, this.#memory).split(/ (.*)/s)
    const token = as === undefined ? undefined : fill(`{${as}.access_token}`, this.#memory)
    const sent = body === undefined ? undefined : fillJson(body, this.#memory)
    const response = await fetch(this.#side.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value, this.#memory)])),
      },
      ...(sent !== undefined && { body: typeof sent === 'string' ? sent : JSON.stringify(sent) }),
    })
    const text = await response.text()
    const location = response.headers.get('location')
    const answered = parseBody(text)
    return {
      status: response.status,
      shown: {
        status: response.status,
        headers: comparedHeaders(method, response.headers),
        ...(location === null ? { body: answered } : { location: addressJson(location) }),
      },
      body: keepable(answered, location),
    }
  }

  #normal(value: Json): Json {
    const { url, peers } = this.#side
    const known: Known = {
      texts: [
        [url, '<server>'],
        [encodeURIComponent(url), '<server>'],
        [url.replace(/^http:\/\//, ''), '<server host>'],
        [peers.url, '<peers>'],
        [`@${this.#memory.tag}.`, '@'],
        [`%40${this.#memory.tag}.`, '%40'],
        [`.${this.#memory.tag}`, ''],
      ],
      nowSeconds: Math.floor(Date.now() / 1_000),
    }
    return normalise(value, known)
  }
}

function byText(one: Json, other: Json): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1
}

const HEADERS = [
  ...['content-type', 'x-sb-error-code', 'x-total-count', 'link', 'retry-after', 'x-redirect-refused', 'allow'],
  ...['sb-auth-user-id', 'sb-auth-session-id', 'sb-auth-refresh-token-prefix', 'sb-auth-refresh-token-reuse'],
  ...['x-supabase-api-version', 'www-authenticate', 'set-cookie'],
]
/** Headers that are compared only in answers to preflight requests. */
const CORS_HEADERS = [
  ...['access-control-allow-origin', 'access-control-allow-methods', 'access-control-allow-headers'],
  ...['access-control-allow-credentials', 'access-control-expose-headers', 'access-control-max-age'],
]

function comparedHeaders(method: string, headers: Headers): JsonObject {
  const names = method === 'OPTIONS' ? [...HEADERS, ...CORS_HEADERS] : HEADERS
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

function parseBody(text: string): Json {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

/** The values for later steps: the members of the body, or the parameters of the redirect URL. */
function keepable(body: Json, location: string | null): JsonObject {
  if (location !== null && URL.canParse(location)) {
    const { search, hash } = new URL(location)
    return Object.fromEntries([...new URLSearchParams(search), ...new URLSearchParams(hash.slice(1))])
  }
  return isJsonObject(body) ? body : {}
}

function isJsonObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The variables in a mail from the template. From a built-in text, only the link is read. */
function variablesOf({ html }: SeenMail): JsonObject {
  const shown = VARIABLES.flatMap((name) => {
    const value = new RegExp(`<li id="${name}">(.*?)</li>`, 's').exec(html)?.[1]
    return value === undefined ? [] : [[name, decodeHtml(value)] as const]
  })
  if (shown.length > 0) return Object.fromEntries(shown)
  const link = /href="([^"]*)"/.exec(html)?.[1]
  return link === undefined ? {} : { ConfirmationURL: decodeHtml(link) }
}

/** The path and parameters of a link, for a request to the server under test. */
function linkParts(link: Json | undefined): JsonObject {
  if (typeof link !== 'string' || !URL.canParse(link)) return {}
  const { pathname, search, searchParams } = new URL(link)
  return { path: pathname + search, linkToken: searchParams.get('token') ?? '' }
}

function decodeHtml(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll(/&(quot|#34);/g, '"')
    .replaceAll(/&#(39|x27);/g, "'")
    .replaceAll('&#43;', '+')
    .replaceAll('&amp;', '&')
}

/** Values that differ between servers or runs without meaning. */
interface Known {
  /** Texts and their replacements, such as for the address of the server. The first match counts. */
  readonly texts: readonly (readonly [string, string])[]
  readonly nowSeconds: number
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const TIME = /\b2\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g
const JWT = /eyJ[\w-]{5,}\.[\w-]+\.[\w-]+/g
/** The hash that replaces an address of a softly deleted user. */
const ADDRESS_HASH = /^[\w-]{43}$/
const LINK_TOKEN = /\b(pkce_)?[0-9a-f]{56}\b/g
const SECONDS_EARLIEST = 1_600_000_000
const SECONDS_LATEST = 4_000_000_000
/** Both servers get a request within the same half minute. */
const ROUNDING_SECONDS = 60

/** Members with random or secret values, and their replacements. */
const RANDOM_MEMBERS: Readonly<Record<string, string>> = {
  refresh_token: '<refresh token>',
  provider_refresh_token: '<provider refresh token>',
  otp: '<code>',
  email_otp: '<code>',
  Token: '<code>',
  token_new: '<code>',
  secret: '<secret>',
  qr_code: '<qr code>',
  'sb-auth-refresh-token-prefix': '<prefix>',
  challenge: '<challenge>',
}

/** Members with a URL as their value. */
const ADDRESSES: ReadonlySet<string> = new Set(['url', 'uri'])

/** Replaces ids, times, tokens and addresses by placeholders. */
export function normalise(value: Json, known: Known, member = ''): Json {
  if (typeof value === 'string') {
    const address = ADDRESSES.has(member) ? addressJson(value) : value
    return typeof address === 'string' ? normaliseText(address, known, member) : normalise(address, known)
  }
  if (typeof value === 'number') return normaliseNumber(value, known)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: Json) => normalise(item, known, member))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, normalise(item, known, name)]))
}

function normaliseText(text: string, { texts }: Known, member: string): string {
  const random = RANDOM_MEMBERS[member]
  // Keep an empty text, so that the comparison shows whether there is a value.
  if (random !== undefined && text !== '') return random
  let normal = text
  for (const [from, to] of texts) normal = normal.replaceAll(from, to)
  return normal
    .replaceAll(JWT, '<jwt>')
    .replaceAll(UUID, '<uuid>')
    .replace(ADDRESS_HASH, '<hash>')
    .replaceAll(LINK_TOKEN, '$1<link token>')
    .replaceAll(/^\d{6}$/g, member === 'token' ? '<code>' : '$&')
    .replaceAll(/([?&](?:refresh_token|token)=)\d{6,10}\b/g, '$1<code>')
    .replaceAll(TIME, (_time, _fraction, offset: string) => `<time ${offset}>`)
    .replaceAll(/after \d+ seconds?/g, 'after <n> seconds')
    .replaceAll(/\d{6} is your/g, '<code> is your')
}

function normaliseNumber(value: number, { nowSeconds }: Known): Json {
  if (value < SECONDS_EARLIEST || value > SECONDS_LATEST) return value
  const distance = Math.round((value - nowSeconds) / ROUNDING_SECONDS) * ROUNDING_SECONDS
  return distance === 0 ? '<now>' : `<now${distance > 0 ? '+' : ''}${distance}>`
}

/** A URL as JSON, so that the order of parameters does not matter. Other texts stay unchanged. */
export function addressJson(text: string): Json {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return text
  const [beforeFragment = '', ...fragments] = text.split('#')
  const [place = '', query] = beforeFragment.split(/\?(.*)/s)
  return {
    place,
    ...(query !== undefined && { query: parametersJson(query) }),
    ...(fragments.length > 0 && { fragments: fragments.map(parametersJson) }),
  }
}

function parametersJson(text: string): Json {
  if (!text.includes('=')) return text
  const pairs = [...new URLSearchParams(text)].map(([name, value]) => [name, parameterJson(name, value)])
  return Object.fromEntries(pairs)
}

/** A time in a URL is text, so convert it into a number. */
function parameterJson(name: string, value: string): Json {
  return name === 'expires_at' ? Number(value) : value
}

/** The claims of a JWT, or `undefined` if the text is not a JWT. */
export function claimsOf(token: unknown): Json | undefined {
  if (typeof token !== 'string') return undefined
  const [, payload = '', signature] = token.split('.')
  if (signature === undefined) return undefined
  try {
    return parseJson(Buffer.from(payload, 'base64url').toString())
  } catch {
    return undefined
  }
}
