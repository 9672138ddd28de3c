/** A request target, read: the decoded parts of its path, or why it is refused. */
export type RequestTarget =
  | { readonly verdict: 'path'; readonly parts: readonly string[] }
  | { readonly verdict: 'server' }
  | { readonly verdict: 'malformed' }
  | { readonly verdict: 'too-long' }

const PATH_BYTES_MAX = 8_192
const PARTS_MAX = 128
const QUERY_PARAMETERS_MAX = 1_000

/**
 * Reads the raw target of a request line. Empty parts of the path are dropped, so `//a/` is `/a`. `*` (with OPTIONS) is the
 * server itself. Refused are: what is no path, percent sequences that are not UTF-8, control characters, dot parts, and
 * slashes in disguise.
 * @see contract of the framework, section 3, edge cases
 */
export function readRequestTarget(method: string, target: string): RequestTarget {
  if (target === '*' && method === 'OPTIONS') return { verdict: 'server' }
  const local = target.replace(/^https?:\/\/[^/?#]*/i, '')
  const [path = '', ...rest] = local.split('?')
  if (local.includes('#') || !(path.startsWith('/') || (path === '' && local !== target)))
    return { verdict: 'malformed' }
  if (path.length > PATH_BYTES_MAX) return { verdict: 'too-long' }
  const raw = path.split('/').filter((part) => part !== '')
  if (raw.length > PARTS_MAX) return { verdict: 'too-long' }
  const parts: string[] = []
  for (const part of raw) {
    const decoded = decode(part)
    if (decoded === undefined || !isPlainPart(decoded)) return { verdict: 'malformed' }
    parts.push(decoded)
  }
  return isPlainQuery(rest.join('?')) ? { verdict: 'path', parts } : { verdict: 'malformed' }
}

/** One round of percent-decoding; undefined for what is not UTF-8. */
function decode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function isPlainPart(part: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to refuse
  return part !== '.' && part !== '..' && !/[\u0000-\u001f\u007f/\\]/.test(part)
}

function isPlainQuery(query: string): boolean {
  if (query === '') return true
  return decode(query) !== undefined && query.split('&', QUERY_PARAMETERS_MAX + 1).length <= QUERY_PARAMETERS_MAX
}
