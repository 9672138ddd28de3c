import type { WireRequest } from './wire.ts'

/** A fault, and how often it occurred. */
export interface Finding {
  readonly operation: string
  readonly problem: string
  count: number
  /** The number of the first request that showed the fault. */
  readonly first: number
  readonly request: WireRequest
  readonly answer: string
}

const LINE_MAX = 4_000

/** A command line that repeats the request. */
export function toCurl(url: string, { method, target, headers, body }: WireRequest): string {
  const parts = [
    ...['curl', '-gi', ...(method === 'HEAD' ? ['--head'] : ['-X', method]), quote(`${url}${target}`), '--path-as-is'],
    ...headers.flatMap(([name, value]) => ['-H', quote(value === '' ? `${name};` : `${name}: ${value}`)]),
    ...(body === undefined ? [] : ['--data-binary', quoteBytes(body)]),
  ]
  const line = parts.join(' ')
  return line.length <= LINE_MAX ? line : `${line.slice(0, LINE_MAX)}… (${line.length} characters)`
}

/** Quotes a text for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Writes bytes outside of printable ASCII by number, as bash's $'' reads them. */
function quoteBytes(bytes: Buffer): string {
  const isPlain = bytes.every((byte) => byte >= 0x20 && byte < 0x7f)
  if (isPlain) return quote(bytes.toString())
  const escaped = [...bytes].map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  )
  return `$'${escaped.join('')}'`
}
