import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { hostileName, hostileText, hostileValue } from './hostile.ts'
import { type Plan, type PlannedBody, replaceAt } from './plan.ts'

/** Makes a valid request slightly invalid. */
export type Damage = (plan: Plan) => Plan

const TYPES = [
  ...[
    undefined,
    '',
    'application/json; charset=utf-16',
    'application/json; charset=',
    'application/vnd.api+json',
    'text/plain',
  ],
  ...[
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'x',
    'application/json;;',
    '/',
  ],
]
const CREDENTIALS = [
  ...['', 'Basic', 'Basic ', 'Basic Og==', 'Basic %%%', 'Basic OnVuZGVmaW5lZA==', 'Bearer', 'Bearer ', 'Bearer x.y.z'],
  ...[
    'Bearer eyJhbGciOiJub25lIn0.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.',
    `Bearer ${'a'.repeat(5_000)}`,
    'Digest username="x"',
  ],
  ...['bearer null', 'Bearer a b', `Basic ${Buffer.from('\0:\0').toString('base64')}`, 'Negotiate \u00e9'],
]
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const ENDINGS = ['/', '//', '%2f', '%00', '/..', '?', '#x', ';a=b', '.json', '/%2e%2e/', '%']

/** Changes of the bytes that make the headers wrong. */
const SPOILS: readonly ((bytes: Buffer) => Buffer)[] = [
  (bytes) => bytes.subarray(0, bytes.length >> 1),
  (bytes) => Buffer.concat([bytes, bytes]),
  (bytes) => Buffer.concat([Buffer.from('\ufeff'), bytes]),
  (bytes) => Buffer.concat([bytes, Buffer.from([0])]),
  (bytes) => Buffer.concat([bytes, Buffer.from([0xff, 0xfe, 0xc0, 0x80])]),
  (bytes) => Buffer.from(bytes.toString(), 'utf16le'),
  (bytes) => gzipSync(bytes),
  (bytes) => Buffer.from(bytes.toString().replaceAll('"', "'")),
  (bytes) => Buffer.from(bytes.toString().replace('{', '{"__proto__":{"x":1},')),
  (bytes) => Buffer.from(bytes.toString().replace('{', '{"constructor":{"prototype":{"x":1}},')),
  (bytes) => Buffer.from(bytes.toString().replace('}', ',}')),
  () => Buffer.alloc(0),
]

const HEADERS = [
  ...[
    'content-encoding',
    'transfer-encoding',
    'expect',
    'accept',
    'accept-encoding',
    'accept-language',
    'accept-version',
    'range',
  ],
  ...[
    'if-match',
    'if-none-match',
    'if-modified-since',
    'origin',
    'referer',
    'cookie',
    'x-forwarded-for',
    'x-forwarded-host',
  ],
  ...[
    'x-http-method-override',
    'x-request-id',
    'idempotency-key',
    'access-control-request-method',
    'x-supabase-api-version',
  ],
  ...['x-jwt-aud', 'redirect_to', 'apikey', 'traceparent', 'upgrade', 'connection', 'te', 'user-agent', 'prefer'],
]
const HEADER_VALUES = [
  ...[
    '*',
    '*/*',
    'text/html',
    'application/x-ndjson',
    'gzip',
    'br',
    'identity;q=0, *;q=0',
    '2024-01-01',
    '0',
    '"0"',
    'W/"1"',
    '100-continue',
  ],
  ...[
    'null',
    'https://evil.example',
    'bytes=0-0',
    'websocket',
    'x'.repeat(300),
    '\u00e9',
    'a, b, c',
    '00-0-0-0',
    'Fri, 31 Feb 2026 00:00:00 GMT',
  ],
]
/** Headers about the framing of the body are not changed, because the client frames it. Raw connections test them. */
const FRAMING = /^(transfer-encoding|expect|upgrade|connection)$/

/** Damage to a request: mostly to its body, otherwise to its target, headers or bytes. */
export const damages: fc.Arbitrary<Damage> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.nat(), hostileValue)
      .map(([at, value]) => onBody((body) => replaceAt(body, at, () => value))),
  },
  { weight: 2, arbitrary: fc.nat().map((at) => onBody((body) => replaceAt(body, at, () => undefined))) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(hostileName, hostileValue)
      .map(([name, value]) => onBody((body) => withMember(body, name, value))),
  },
  { weight: 1, arbitrary: fc.constantFrom(...SPOILS).map((spoil) => onPlannedBody((body) => ({ ...body, spoil }))) },
  { weight: 1, arbitrary: fc.constantFrom(...TYPES).map((type) => onPlannedBody((body) => ({ ...body, type }))) },
  { weight: 1, arbitrary: hostileValue.map((value) => onBody(() => value)) },
  { weight: 3, arbitrary: fc.tuple(fc.nat(), hostileText).map(([at, value]) => withParam(at, value)) },
  { weight: 3, arbitrary: fc.tuple(fc.nat(), hostileText).map(([at, value]) => withQuery(at, value)) },
  { weight: 1, arbitrary: fc.nat().map(twice) },
  {
    weight: 1,
    arbitrary: fc.tuple(hostileName, hostileText).map(
      (pair): Damage =>
        (plan) => ({ ...plan, query: [...plan.query, pair] }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...CREDENTIALS).map(
      (header): Damage =>
        (plan) => ({ ...plan, credential: { header } }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('none' as const, 'own' as const, 'viewer' as const).map(
      (credential): Damage =>
        (plan) => ({ ...plan, credential }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...METHODS).map(
      (method): Damage =>
        (plan) => ({ ...plan, method }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...ENDINGS).map(
      (ending): Damage =>
        (plan) => ({ ...plan, ending }),
    ),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...HEADERS), fc.constantFrom(...HEADER_VALUES)).map(withHeader) },
)

function onPlannedBody(change: (body: PlannedBody) => PlannedBody): Damage {
  return (plan) => (plan.body === undefined ? plan : { ...plan, body: change(plan.body) })
}

function onBody(change: (value: unknown) => unknown): Damage {
  return onPlannedBody((body) => ({ ...body, value: change(body.value) }))
}

function withParam(at: number, value: string): Damage {
  return (plan) => {
    const names = Object.keys(plan.params)
    const name = names[at % names.length]
    return name === undefined ? plan : { ...plan, params: { ...plan.params, [name]: value } }
  }
}

function withQuery(at: number, value: string): Damage {
  return (plan) => ({
    ...plan,
    query: plan.query.map((pair, index) => (index === at % plan.query.length ? [pair[0], value] : pair)),
  })
}

/** Sends one parameter twice. */
function twice(at: number): Damage {
  return (plan) => {
    const pair = plan.query[at % plan.query.length]
    return pair === undefined ? plan : { ...plan, query: [...plan.query, pair] }
  }
}

function withHeader([name, value]: readonly [string, string]): Damage {
  return (plan) => (FRAMING.test(name) ? plan : { ...plan, headers: [...plan.headers, [name, value]] })
}

/** Sets an own member, even `__proto__`. Returns values other than objects unchanged. */
function withMember(value: unknown, name: string, member: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries([...Object.entries(value), [name, member]])
}
