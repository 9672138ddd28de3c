import { type SeenMail, VARIABLES } from './peers.ts'
import { type Json, type JsonObject, parseJson } from './step.ts'

/** The headers that are compared. */
const HEADERS = [
  ...['content-type', 'x-sb-error-code', 'x-total-count', 'link', 'retry-after', 'x-redirect-refused', 'allow'],
  ...['sb-auth-user-id', 'sb-auth-session-id', 'sb-auth-refresh-token-prefix', 'sb-auth-refresh-token-reuse'],
  ...['x-supabase-api-version', 'www-authenticate', 'set-cookie'],
]
/** Headers of the answer to a preflight request, which other answers have too. */
const CORS_HEADERS = [
  ...['access-control-allow-origin', 'access-control-allow-methods', 'access-control-allow-headers'],
  ...['access-control-allow-credentials', 'access-control-expose-headers', 'access-control-max-age'],
]

/** The headers of an answer that are compared. */
export function comparedHeaders(method: string, headers: Headers): JsonObject {
  const names = method === 'OPTIONS' ? [...HEADERS, ...CORS_HEADERS] : HEADERS
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

/** The JSON of a body, or its text. */
export function parseBody(text: string): Json {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

/** The values that later steps may name: the members of the body, or the parameters of the address. */
export function keepable(body: Json, location: string | null): JsonObject {
  if (location !== null && URL.canParse(location)) {
    const { search, hash } = new URL(location)
    return Object.fromEntries([...new URLSearchParams(search), ...new URLSearchParams(hash.slice(1))])
  }
  return isJsonObject(body) ? body : {}
}

function isJsonObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The variables that the template showed; of a built-in text only the link is read. */
export function variablesOf({ html }: SeenMail): JsonObject {
  const shown = VARIABLES.flatMap((name) => {
    const value = new RegExp(`<li id="${name}">(.*?)</li>`, 's').exec(html)?.[1]
    return value === undefined ? [] : [[name, decodeHtml(value)] as const]
  })
  if (shown.length > 0) return Object.fromEntries(shown)
  const link = /href="([^"]*)"/.exec(html)?.[1]
  return link === undefined ? {} : { ConfirmationURL: decodeHtml(link) }
}

/** The path of a link, to be requested from the server under test. */
export function linkParts(link: Json | undefined): JsonObject {
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
