import { describe, expect, it } from 'vitest'
import { createJudge, findInternals, findLogProblems } from './judge.ts'
import { parseApiDocument } from './openapi.ts'

const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const error = json({
  type: 'object',
  properties: { code: { type: 'string' } },
  required: ['code'],
  additionalProperties: false,
})
const document = parseApiDocument({
  paths: {
    '/things': { get: { responses: { '200': { content: { 'application/x-ndjson': { schema: {} } } } } } },
    '/things/{thingId}': {
      get: { responses: { '200': json({ $ref: '#/components/schemas/Thing' }), '4XX': error, '503': error } },
      delete: { responses: { '204': {}, '404': error } },
    },
    '/links/{linkId}': { get: { responses: { '200': error } } },
    '/things/export': { get: { responses: { '200': error } } },
  },
  components: { schemas: { Thing: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] } } },
})
const judge = createJudge({
  ...{
    document,
    pages: /^\/docs/,
    normalPath: (path: string) => path,
    errorsOf: 'GET /things/{thingId}',
  },
  secrets: () => new Map([['password', 'canary']]),
})
const type = ['content-type', 'application/json; charset=utf-8'] as const
const answer = (status: number, body: unknown, ...headers: readonly (readonly [string, string])[]) => ({
  status,
  headers: new Map([['x-request-id', 'r'], ...(body === '' ? [] : [type]), ...headers]),
  text: typeof body === 'string' ? body : JSON.stringify(body),
})
const ask = (method: string, target: string, ...headers: readonly (readonly [string, string])[]) => ({
  ...{ method, target, headers },
})
const get = ask('GET', '/things/7?x=1')
const list = ask('GET', '/things')
const removeExport = ask('DELETE', '/things/export/')
const browse = (target: string) => ask('GET', target, ['accept', 'text/html,*/*;q=0.8'])
const html = ['content-type', 'text/html'] as const
const lines = ['content-type', 'application/x-ndjson'] as const
const code = { code: 'NOT_FOUND' }

describe('createJudge', () => {
  it.each([
    ['a documented answer', get, answer(200, { id: 7 })],
    ['a range of statuses', get, answer(418, code)],
    ['nothing', ask('DELETE', '/things/7'), answer(204, '')],
    ['a HEAD', ask('HEAD', '/things/7'), answer(200, '', type)],
    ['a busy service', get, answer(503, code, ['retry-after', '1'])],
    ['an unknown path', ask('GET', '/other'), answer(404, code)],
    ['a page for a browser at an unknown path', browse('/other'), answer(404, '<p>', html)],
    ['lines of JSON', list, answer(200, '{"id":7}\n[]\n', lines)],
    ['a token with letters like a name of ours', get, answer(404, { code: 'm2pg_LlWU-FST_aERR_AB' })],
    ['a page', ask('GET', '/docs/x'), answer(200, '<p>')],
    ['a method that only a sibling with a parameter has', removeExport, answer(405, code, ['allow', 'GET'])],
    ['a HEAD at a path whose GET changes something', ask('HEAD', '/links/7'), answer(405, '', ['allow', 'GET'])],
    ['a request that cannot be read', ask('DELETE', '/things/%ED'), answer(400, code)],
    ['a preflight', ask('OPTIONS', '/things/7'), answer(204, '')],
  ])('finds nothing in %s', (_, request, sent) => {
    expect(judge(request, sent)).toEqual([])
  })

  it.each([
    ['answers 200 against its schema:  must have required property', get, answer(200, {})],
    ['answers 200 against its schema: /id must be integer', get, answer(200, { id: '7' })],
    ['answers 4XX against its schema:  must NOT have additional', get, answer(418, { ...code, detail: 1 })],
    ['answers 201, which is not documented', get, answer(201, { id: 7 })],
    ['answers 403, which is not documented', ask('DELETE', '/things/7'), answer(403, code)],
    ['answers 500', get, answer(500, code)],
    ['answers 503 without Retry-After', get, answer(503, code)],
    ['answers 200 as "text/html", which is not documented', get, answer(200, '<p>', html)],
    ['answers 404 as "text/html", which is not documented', ask('GET', '/other'), answer(404, '<p>', html)],
    ['answers 404 as "text/html", which is not documented', browse('/things/7'), answer(404, '<p>', html)],
    ['answers 400 as "text/html", which is not documented', browse('/other'), answer(400, '<p>', html)],
    ['answers 200 with invalid JSON', get, answer(200, '{')],
    ['answers 200 with invalid JSON', list, answer(200, '{"id":7}\n[\n', lines)],
    ['answers 204 with a body', ask('DELETE', '/things/7'), answer(204, code)],
    ['answers 200 at an unknown path or method', ask('POST', '/things/7'), answer(200, code)],
    ['answers 405 without Allow', ask('POST', '/things/7'), answer(405, code)],
    ['answers 405 without Allow', ask('HEAD', '/links/7'), answer(405, '')],
    ['answers 404, which is not documented', ask('HEAD', '/links/7'), answer(404, '')],
    ['answers without X-Request-Id', get, { ...answer(200, { id: 7 }), headers: new Map([type]) }],
    ['has a header that a request has injected', get, answer(200, { id: 7 }, ['x-injected', '1'])],
    ['tells of a stack trace', get, answer(404, { code: 'at f (/x/a.ts:1:2)' })],
    ['tells of SQL', get, answer(404, code, ['x-debug', 'SELECT a FROM b'])],
    ['tells of the database: pg_cat', get, answer(404, { code: 'no pg_catalog' })],
    ['tells of a library: FST_ERR', get, answer(404, { code: 'FST_ERR_VALIDATION' })],
    ['tells the password', get, answer(404, { code: 'canary' })],
  ])('reports that the service %s', (problem, request, sent) => {
    expect(judge(request, sent).join('\n')).toContain(problem)
  })
})

const line = (entry: object) => `${JSON.stringify({ time: '2026-11-20T10:00:00.000Z', msg: 'request', ...entry })}\n`
const find = (...entries: readonly object[]) =>
  findLogProblems(entries.map(line).join(''), { secrets: new Map([['password', 'canary']]), caused: /^refused$/ })

describe('findInternals', () => {
  it.each([
    ['services/inventory/src/main.ts', ['tells of a source file: services/inventory/src/main.ts']],
    ['packages/common/package.json', ['tells of a source file: packages/common/package.json']],
    ['node_modules/marked/read.md.js', ['tells of a source file: node_modules/marked/read.md.js']],
    ['/srv/app/services/inventory/README.md', ['tells of a source file: services/inventory/README.md']],
    ['file:///srv/app', ['tells of a source file: file:///']],
    ['<b>services/inventory/README.md</b>', []],
  ])('tells the path of a source file from the name of a document: %s', (text, problems) => {
    expect(findInternals(text)).toEqual(problems)
  })

  it('lets operators alone read how a peer could not be reached', () => {
    expect(findInternals('{"error":"ENOTFOUND"}')).toEqual(['tells of the network: ENOTFOUND'])
    expect(findInternals('{"error":"ENOTFOUND"}', 'operator')).toEqual([])
    expect(findInternals('no relation "x"', 'operator')).toEqual(['tells of the database: relation "'])
  })
})

describe('findLogProblems', () => {
  it('finds no problem in lines of info, warnings and errors without a secret', () => {
    expect(find({ level: 'info' }, { level: 'error' }, { level: 'warn', msg: 'slow' })).toEqual([])
    const cut = '{"level":"error","ms\n\nnot a line\n'
    expect(findLogProblems(cut, { secrets: new Map(), caused: undefined })).toEqual([])
  })

  it('passes over errors that the surroundings of the service cause', () => {
    expect(find({ level: 'error', msg: 'refused' }, { level: 'error', msg: 'refused twice' })).toEqual([
      'has an error: refused twice',
    ])
  })

  it('finds errors and secrets, also of work without an answer', () => {
    expect(
      find(
        { level: 'error', msg: 'GET /7 failed', err: { type: 'Error', message: 'x is not iterable', stack: '…' } },
        { level: 'error', msg: 'GET /8 failed', err: { type: 'Error', message: 'x is not iterable', stack: '…' } },
        { level: 'fatal', msg: 'the end' },
        { level: 'info', path: '/verify?password=canary' },
      ),
    ).toEqual(['tells the password', 'has an error: GET /* failed x is not iterable', 'has an error: the end'])
  })
})
