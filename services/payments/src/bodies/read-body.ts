import type { Parsed } from './parse-form.ts'
import { parseForm } from './parse-form.ts'
import { parseJson } from './parse-json.ts'
import { ParsedInput } from './parsed-input.ts'

/** The headers that say how a body is written. */
export interface BodyHeaders {
  readonly 'content-type'?: string | undefined
  readonly 'content-encoding'?: string | undefined
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * Reads a body by its media type (reference: Media types). `unsupported`: neither JSON nor a form, compressed, or not in UTF-8.
 *
 * @param body that of a form as `@fastify/formbody` decodes it: with U+FFFD in the place of bytes that are not UTF-8
 */
export function readBody(body: Buffer | string, headers: BodyHeaders): Parsed<ParsedInput> | 'unsupported' {
  const type = mediaType(headers['content-type'])
  if (type === undefined) return body.length === 0 ? { value: new ParsedInput('json', {}) } : 'unsupported'
  if (headers['content-encoding'] !== undefined && body.length > 0) return 'unsupported'
  const text = decode(body)
  if (text === undefined) return { errors: [{ field: 'body', message: 'is not valid UTF-8', code: 'FORMAT' }] }
  const parsed = type === 'json' ? parseJson(text) : parseForm(text)
  return 'errors' in parsed ? parsed : { value: new ParsedInput(type, parsed.value) }
}

/** Which of the two a Content-Type names; undefined for any other, and for another character set than UTF-8. */
function mediaType(header: string | undefined): 'json' | 'form' | undefined {
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';')
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return undefined
  const name = type.trim()
  if (name === 'application/x-www-form-urlencoded') return 'form'
  return name === 'application/json' || /^application\/[^/+\s]+\+json$/.test(name) ? 'json' : undefined
}

function decode(body: Buffer | string): string | undefined {
  // A form percent-encodes U+FFFD, so a raw one stands for bytes that were not UTF-8.
  if (typeof body === 'string') return body.includes('\uFFFD') ? undefined : body.replace(/^\uFEFF/, '')
  try {
    return UTF8.decode(body)
  } catch {
    return undefined
  }
}
