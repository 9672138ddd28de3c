import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError } from '../errors.ts'

export interface Target {
  /** The path as it was sent, without the query. */
  readonly path: string
  /** The decoded parts of the path. Empty parts are dropped, so `//foo/` equals `/foo`. */
  readonly parts: readonly string[]
  /** The text after the first `?`, as the client sent it. */
  readonly query: string
}

const PATH_BYTES_MAX = 8_192
const PARTS_MAX = 128

/** Matches paths that need decoding and checks: escapes, dot segments, and characters that no URL may contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are characters to refuse
const suspicious = /[%\\\x00-\x20\x7f-\uffff]|\/\.\.?(?:\/|$)/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are characters to refuse
const notInUrl = /[\x00-\x20\x7f-\uffff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are characters to refuse
const control = /[\x00-\x1f\x7f]/

interface TargetSettings {
  /** Whether a part may contain an encoded slash. */
  readonly allowEncodedSlash: boolean
}

/**
 * Splits a request target (reference: Request targets). Does not collapse dot segments, and decodes only once.
 * @throws CallError 400 if the target is malformed or ambiguous, 414 if it is too long
 */
export function parseTarget(target: string, settings: TargetSettings): Target {
  if (target.includes('#')) throw malformed()
  const local = target.startsWith('/') ? target : withoutOrigin(target)
  const mark = local.indexOf('?')
  const path = mark === -1 ? local : local.slice(0, mark)
  const query = mark === -1 ? '' : local.slice(mark + 1)
  if (path.length > PATH_BYTES_MAX) throw new CallError(414)
  const parts = splitPath(path)
  if (parts.length > PARTS_MAX) throw new CallError(414)
  return { path, query, parts: suspicious.test(path) ? parts.map((part) => decode(part, settings)) : parts }
}

/** Returns the parts between the slashes, without empty parts. */
function splitPath(path: string): string[] {
  const parts: string[] = []
  for (let start = 0; start < path.length; ) {
    const slash = path.indexOf('/', start)
    const end = slash === -1 ? path.length : slash
    if (end > start) parts.push(path.slice(start, end))
    start = end + 1
  }
  return parts
}

/** Returns the path of a target in absolute form: `/path` for `http://host/path`. Routing ignores the host. */
function withoutOrigin(target: string): string {
  const origin = /^https?:\/\/[^/?]+/i.exec(target)
  if (origin === null) throw malformed()
  const rest = target.slice(origin[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function decode(part: string, { allowEncodedSlash }: TargetSettings): string {
  if (notInUrl.test(part)) throw malformed()
  const decoded = decodePercent(part)
  if (decoded === '.' || decoded === '..' || control.test(decoded)) throw malformed()
  if (!allowEncodedSlash && /[/\\]/.test(decoded)) throw malformed()
  return decoded
}

/**
 * Decodes percent sequences once, as UTF-8.
 * @throws CallError 400 for a broken or overlong sequence, and for bytes that are not UTF-8
 */
export function decodePercent(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw malformed(cause)
  }
}

function malformed(cause?: unknown): CallError {
  return new CallError(400, PROBLEM_TEXTS.malformedUrl, { cause })
}
