import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { z } from 'zod'
import { type ApiDocument, findOperation, type Operation } from './openapi.ts'
import type { Answer, WireRequest } from './wire.ts'

interface JudgeOptions {
  readonly document: ApiDocument
  /** An operation with the error format of requests that match no route. */
  readonly errorsOf: string
  /** Paths that the document omits intentionally: pages and documents. */
  readonly pages: RegExp
  /** Maps the requested path to the path in the document. */
  readonly normalPath: (path: string) => string
  /** Returns secrets by name. No answer may contain them. */
  readonly secrets: () => ReadonlyMap<string, string>
}

/** Returns the faults of an answer. Empty if the answer is as documented. */
export type Judge = (request: JudgedRequest, answer: Answer) => readonly string[]

type JudgedRequest = Pick<WireRequest, 'method' | 'target' | 'headers'>

const DOCUMENT = 'document.json'
const JSON_TYPE = 'application/json'
const PAGE_TYPE = 'text/html'
const LINES_TYPE = 'application/x-ndjson'
/** A longer URL is refused before any route. */
const URL_MAX = 8_192
/** The allowed statuses of undocumented paths and methods. */
const BESIDE_ROUTES = /^(204|400|401|404|405|413|414|415|429|431|501)$/

/** Statuses of an unreadable request, before its route. Documents state them only for routes that also refuse input. */
const BEFORE_ROUTES = /^(400|413|414|415|431|501)$/

export function createJudge({ document, errorsOf, pages, normalPath, secrets }: JudgeOptions): Judge {
  const validate = createValidator(document)
  const errors = document.operations.find(({ name }) => name === errorsOf)
  const judgeBeside = (answer: Answer, { method, headers }: JudgedRequest) => {
    if (!BESIDE_ROUTES.test(String(answer.status))) return [`answers ${answer.status} at an unknown path or method`]
    if (answer.status === 204) return method === 'OPTIONS' ? [] : ['answers 204 at an unknown path or method']
    if (method === 'HEAD') return []
    // If the operation does not document a status, its body must have the format of a documented one.
    const status = (errors && (documented(errors, answer.status) ?? documented(errors, 401))) ?? ''
    // A browser gets a page if the path does not exist.
    const types = answer.status === 404 && asksForPage(headers) ? [JSON_TYPE, PAGE_TYPE] : [JSON_TYPE]
    return judgeBody(answer, types, (body, type) => validate({ operation: errorsOf, status, type }, body))
  }
  const judgeDocumented = (operation: Operation, answer: Answer, request: JudgedRequest) => {
    const status = documented(operation, answer.status)
    if (status === undefined && BEFORE_ROUTES.test(String(answer.status))) return judgeBeside(answer, request)
    if (status === undefined) return [`answers ${answer.status}, which is not documented`]
    const types = operation.answers[status] ?? []
    if (request.method === 'HEAD') return answer.text === '' ? [] : ['answers HEAD with a body']
    return judgeBody(answer, types, (body, type) => validate({ operation: operation.name, status, type }, body))
  }
  // A service that finds the path before the method answers 405 to `DELETE /products/export`, although the document has
  // `DELETE /products/{productId}`. A GET that changes something refuses HEAD.
  const operationOf = (method: string, path: string, { status }: Answer) => {
    const literal = path.replace(/\/$/, '')
    const isLiteral = document.operations.some((operation) => operation.path === literal && operation.method !== method)
    return status === 405 && (isLiteral || method === 'HEAD')
      ? undefined
      : findOperation(document.operations, method, path)
  }
  return (request, answer) => {
    const { method, target } = request
    const [path = ''] = target.split(/[?#]/, 1)
    const operation = target.length > URL_MAX ? undefined : operationOf(method, normalPath(path), answer)
    const isPage = operation === undefined && pages.test(path)
    return [
      ...judgeHead(answer),
      ...(operation ? judgeDocumented(operation, answer, request) : isPage ? [] : judgeBeside(answer, request)),
      ...findInternals(
        `${[...answer.headers].join('\n')}\n${answer.text}`,
        isOfOperators(path) ? 'operator' : 'client',
      ),
      ...findSecrets(`${[...answer.headers].join('\n')}\n${answer.text}`, secrets()),
    ]
  }
}

function isOfOperators(path: string): boolean {
  return path.startsWith('/operator/')
}

function asksForPage(headers: JudgedRequest['headers']): boolean {
  return headers.some(([name, value]) => name === 'accept' && value.includes(PAGE_TYPE))
}

/** Returns the documented status or range that covers a status. */
function documented({ answers }: Operation, status: number): string | undefined {
  return [String(status), `${String(status)[0]}XX`, 'default'].find((each) => answers[each])
}

function judgeHead({ status, headers }: Answer): readonly string[] {
  const isLater = status === 429 || status === 503
  return [
    // The status of an unknown method is 501 (RFC 9110).
    ...(status >= 500 && status !== 501 && status !== 503 ? [`answers ${status}`] : []),
    ...(isLater && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')
      ? [`answers ${status} without Retry-After`]
      : []),
    ...(status === 405 && !headers.has('allow') ? ['answers 405 without Allow'] : []),
    ...(headers.has('x-request-id') ? [] : ['answers without X-Request-Id']),
    // A hostile text would set this header if it could end a line and begin a header.
    ...(headers.has('x-injected') ? ['has a header that a request has injected'] : []),
  ]
}

function judgeBody(
  { text, headers, status }: Answer,
  types: readonly string[],
  validate: (body: unknown, type: string) => readonly string[],
): readonly string[] {
  if (types.length === 0 || status === 204 || status === 304)
    return text === '' ? [] : [`answers ${status} with a body`]
  const [type = ''] = (headers.get('content-type') ?? '').split(';', 1)
  if (!types.includes(type)) return [`answers ${status} as "${type}", which is not documented`]
  if (type !== JSON_TYPE && type !== LINES_TYPE) return []
  try {
    if (type === JSON_TYPE) {
      const body: unknown = JSON.parse(text)
      return validate(body, type)
    }
    for (const line of text.split('\n').filter((each) => each !== '')) JSON.parse(line)
    return []
  } catch (error) {
    if (error instanceof SyntaxError) return [`answers ${status} with invalid JSON`]
    throw error
  }
}

interface Place {
  readonly operation: string
  readonly status: string
  readonly type: string
}

function createValidator({ whole }: ApiDocument): (place: Place, body: unknown) => readonly string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(whole, DOCUMENT)
  const compiled = new Map<string, ValidateFunction>()
  return ({ operation, status, type }, body) => {
    const [method = '', path = ''] = operation.split(' ')
    const steps = ['paths', path, method.toLowerCase(), 'responses', status, 'content', type, 'schema']
    const pointer = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
    const schema = compiled.get(pointer) ?? ajv.compile({ $ref: `${DOCUMENT}#/${pointer}` })
    compiled.set(pointer, schema)
    if (schema(body)) return []
    const [error] = schema.errors ?? []
    return [`answers ${status} against its schema: ${error?.instancePath.replaceAll(/\/\d+/g, '/*')} ${error?.message}`]
  }
}

/**
 * Texts that no answer may contain, because they reveal the implementation or the machine. Texts of a schema are for clients.
 * Short names must be at the beginning of a word, because tokens and challenges can contain any short sequence of letters.
 */
const INTERNALS: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a stack trace', /\bat [^\n"]{1,120}\.[cm]?[jt]s:\d+/],
  // A page may name a document of the repository. The folder of the machine would reveal where the service runs.
  [
    'a source file',
    /(?!(?<!\/)[\w/-]+\.md\b(?!\.))\b(services|packages|migrations|node_modules)\/[\w@./-]+|file:\/\/\/(?!etc\/passwd)/,
  ],
  ['SQL', /\b(SELECT\b.{1,200}\bFROM|INSERT INTO|UPDATE\b.{1,80}\bSET|DELETE FROM)\b/],
  [
    'the database',
    /violates|duplicate key|relation "|column "|syntax error at|invalid input syntax|(?<![\w.-])pg_[a-z]{3}|plpgsql|SQLSTATE|invalid byte sequence/,
  ],
  [
    'the runtime',
    /Cannot read propert|is not a function|is not defined|is not iterable|Unexpected (token|end of|non-whitespace)|in JSON at position|\[object Object\]|Maximum call stack|\bERR_[A-Z]{2,}/,
  ],
  ['a library', /ZodError|\bFST_ERR|\bkysely\b|pg-boss|\bajv\b|fastify|PostgresError|DatabaseError/],
]

/** Error codes of an unreachable peer. Operators see them in failed deliveries (console reference: Routes of payments). */
const NETWORK = ['the network', /\bE(CONN[A-Z]+|PIPE|NOTFOUND|TIMEDOUT)\b/] as const

/** Returns the internals that an answer reveals. @param text body and headers */
export function findInternals(text: string, reader: 'client' | 'operator' = 'client'): readonly string[] {
  const internals = reader === 'operator' ? INTERNALS : [...INTERNALS, NETWORK]
  return internals.flatMap(([what, pattern]) => {
    const found = pattern.exec(text)
    return found === null ? [] : [`tells of ${what}: ${found[0].slice(0, 120)}`]
  })
}

export function findSecrets(text: string, secrets: ReadonlyMap<string, string>): readonly string[] {
  return [...secrets].flatMap(([name, value]) => (value !== '' && text.includes(value) ? [`tells the ${name}`] : []))
}

const Line = z.object({ level: z.string(), msg: z.string(), err: z.object({ message: z.string() }).optional() })
const MESSAGE_MAX = 160
/** Ids and numbers, which differ between log lines of the same fault. */
const VARYING = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\d+/g
/** The log line of each request. The client has seen its status. */
const ACCESS = 'request'

/**
 * Returns texts that a log must not contain: secrets, and errors that a client does not see because of a redirect or background
 * work.
 */
export function findLogProblems(
  log: string,
  {
    secrets,
    caused,
  }: {
    readonly secrets: ReadonlyMap<string, string>
    /** Errors that the fuzzer's test servers cause on purpose. */
    readonly caused: RegExp | undefined
  },
): readonly string[] {
  const errors = log.split('\n').flatMap((line) => {
    const entry = parse(line)
    if (entry === undefined || !/^(error|fatal)$/.test(entry.level) || entry.msg === ACCESS || caused?.test(entry.msg))
      return []
    const message = [entry.msg, entry.err?.message ?? ''].join(' ').trim().replaceAll(VARYING, '*')
    return [`has an error: ${message.slice(0, MESSAGE_MAX)}`]
  })
  return [...findSecrets(log, secrets), ...new Set(errors)]
}

/** Returns `undefined` for lines of other programs and for truncated lines. */
function parse(line: string): z.output<typeof Line> | undefined {
  try {
    return Line.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
