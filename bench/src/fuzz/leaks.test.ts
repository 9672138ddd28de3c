import { describe, expect, it } from 'vitest'
import { findInternals, findLogProblems } from './leaks.ts'

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
