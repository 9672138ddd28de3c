import { type Json, parseJson } from './step.ts'

/** Values that differ between two servers, or from run to run, without meaning. */
export interface Known {
  /** Texts and what stands for them, such as the address of the server. The first that fits is taken. */
  readonly texts: readonly (readonly [string, string])[]
  readonly nowSeconds: number
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const TIME = /\b2\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g
const JWT = /eyJ[\w-]{5,}\.[\w-]+\.[\w-]+/g
/** The remainder of an address of a user who was deleted softly. */
const ADDRESS_HASH = /^[\w-]{43}$/
const LINK_TOKEN = /\b(pkce_)?[0-9a-f]{56}\b/g
const SECONDS_EARLIEST = 1_600_000_000
const SECONDS_LATEST = 4_000_000_000
/** Two servers are asked within the same half minute. */
const ROUNDING_SECONDS = 60

/** Members whose value is random or secret, and what stands for them. */
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

/** Members whose value is an address with parameters. */
const ADDRESSES: ReadonlySet<string> = new Set(['url', 'uri'])

/** Replaces ids, times, tokens and addresses by what they are. */
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
  // An empty text is kept: whether there is a value is compared.
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

/** An address as JSON: its parameters do not depend on their order. A text that is no address stays a text. */
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

/** A time in an address is a number in letters. */
function parameterJson(name: string, value: string): Json {
  return name === 'expires_at' ? Number(value) : value
}

/** The claims of a JWT; undefined when the text is none. */
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
