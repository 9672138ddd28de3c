import { isLiteral } from './hostile.ts'
import type { Kept, Memory } from './memory.ts'
import type { Credential, KnownCredential, Plan } from './plan.ts'
import { isFromMemory } from './valid-value.ts'

export interface WireRequest {
  readonly method: string
  /** The path with its query, percent-encoded. */
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer | undefined
}

export interface Answer {
  readonly status: number
  /** By lower-case name. Values of a repeated header are joined with a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

export interface WireContext {
  readonly memory: Memory
  /** Returns headers with credentials, or none for an unknown client. */
  readonly authorize: (credential: KnownCredential, actor: number) => Readonly<Record<string, string>>
}

/** The characters that Node.js rejects in a header. */
const NOT_IN_A_HEADER = /[^\t\x20-\x7e\x80-\xff]/g

/** Replaces the placeholders of a planned request by stored values. */
export function toWire(plan: Plan, { memory, authorize }: WireContext): WireRequest {
  const fill = (value: unknown) => filled(value, (pool, choice) => memory.pick(plan.actor, pool, choice))
  const path = plan.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(fill(plan.params[name])))
  const query = plan.query.flatMap(([name, value]) => queryPairs(textOf(fill(name)), fill(value))).join('&')
  const type = plan.body?.type
  const headers = [
    ...Object.entries(headersOf(plan.credential, (known) => authorize(known, plan.actor))),
    ...(type === undefined ? [] : [['content-type', type] as const]),
    ...plan.headers.map(([name, value]) => [name, textOf(fill(value))] as const),
  ]
  return {
    method: plan.method,
    target: `${path}${plan.ending}${query === '' ? '' : `?${query}`}`,
    headers: headers.map(([name, value]) => [name, value.replaceAll(NOT_IN_A_HEADER, '')]),
    body: plan.body?.spoil(Buffer.from(bodyText(fill(plan.body.value), type))),
  }
}

function headersOf(
  credential: Credential,
  authorize: (known: KnownCredential) => Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (credential === 'none') return {}
  return typeof credential === 'object' ? { authorization: credential.header } : authorize(credential)
}

function filled(value: unknown, pick: (pool: string, choice: number) => Kept | undefined): unknown {
  if (isFromMemory(value)) return memberOf(pick(value.fromMemory, value.choice), value.member) ?? value.otherwise
  if (Array.isArray(value)) return value.map((each) => filled(each, pick))
  if (typeof value !== 'object' || value === null || isLiteral(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, pick)]))
}

function memberOf(kept: Kept | undefined, member: string | undefined): unknown {
  return member === undefined ? kept : typeof kept === 'object' ? kept[member] : undefined
}

/** Percent-encodes text. Existing percent signs stay. A lone surrogate becomes bytes that are not UTF-8. */
function encode(value: unknown): string {
  const text = textOf(value)
  if (!text.isWellFormed()) return '%ED%A0%80'
  return text.startsWith('%') ? text.replaceAll(/[^!-~]/gu, encodeURIComponent) : encodeURIComponent(text)
}

function textOf(value: unknown): string {
  if (isLiteral(value)) return value.literal
  return typeof value === 'object' && value !== null ? toJson(value) : String(value ?? '')
}

/** Writes lists with commas and objects with brackets. */
function queryPairs(name: string, value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || isLiteral(value)) return [`${encode(name)}=${encode(value)}`]
  if (Array.isArray(value)) return [`${encode(name)}=${value.map(encode).join(',')}`]
  return Object.entries(value).flatMap(([member, each]) => queryPairs(`${name}[${member}]`, each))
}

function bodyText(value: unknown, type: string | undefined): string {
  if (/urlencoded/.test(type ?? '')) return formPairs('', value).join('&')
  return typeof value === 'string' && !/json/.test(type ?? '') ? value : toJson(value)
}

/** Writes brackets in the style of `qs` and PHP. */
function formPairs(prefix: string, value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || isLiteral(value))
    return [`${encode(prefix)}=${encode(formText(value))}`]
  return Object.entries(value).flatMap(([name, member]) =>
    formPairs(prefix === '' ? name : `${prefix}[${name}]`, member),
  )
}

function formText(value: unknown): unknown {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : value
}

/** Returns JSON with literals unchanged, even numbers that JavaScript cannot represent. */
function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_, member: unknown) =>
    isLiteral(member) ? `\u0001${member.literal}\u0001` : member,
  )
  return (text ?? '').replaceAll(/"\\u0001([^"\\]*)\\u0001"/g, '$1')
}

export interface Finding {
  readonly operation: string
  readonly problem: string
  count: number
  /** The number of the first request with the fault. */
  readonly first: number
  readonly request: WireRequest
  readonly answer: string
}

const LINE_MAX = 4_000

/** Returns a command line that repeats the request. */
export function toCurl(url: string, { method, target, headers, body }: WireRequest): string {
  const parts = [
    ...['curl', '-gi', ...(method === 'HEAD' ? ['--head'] : ['-X', method]), quote(`${url}${target}`), '--path-as-is'],
    ...headers.flatMap(([name, value]) => ['-H', quote(value === '' ? `${name};` : `${name}: ${value}`)]),
    ...(body === undefined ? [] : ['--data-binary', quoteBytes(body)]),
  ]
  const line = parts.join(' ')
  return line.length <= LINE_MAX ? line : `${line.slice(0, LINE_MAX)}… (${line.length} characters)`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Writes bytes outside printable ASCII as escapes for bash's $''. */
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
