import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Program, readChapters, SERVICES } from './requirement.ts'
import { listDocuments, listProblems, writePage } from './security-page.ts'
import { listTaggedTests } from './test-tags.ts'

const chapters = readChapters(`
- title: V1 Some
  requirements:
    1.1: { level: 1, asks: a first thing, inventory: { deviation: no reason } }
    1.2:
      level: 2
      asks: a second
      auth: { deviation: old clients, strict: closed }
      payments, inventory: { notApplicable: there is none }
    1.3: { level: 2, asks: a third, all: { notApplicable: there is none } }
    1.4: { level: 2, asks: a fourth, all: { documented: README.md#fourth, note: by the operator } }
- title: V2 Other
  outside: { 'payments, inventory': it has none }
  requirements:
    2.1: { level: 1, asks: a fifth, payments: met }
- title: V3 None
  outside: { all: nobody has }
  requirements: {}
`)

const test = (requirements: readonly string[], services: readonly Program[] = SERVICES) => {
  return { path: 'a.test.ts', line: 3, title: '200: [a] | b', requirements, services }
}

describe('listProblems', () => {
  it('accepts a requirement that each service has a test or a reason for', () => {
    expect(listProblems(chapters, [test(['1.1', '1.2', '2.1'])])).toEqual([])
  })

  it('names what a service has neither a test nor a reason for', () => {
    expect(listProblems(chapters, [test(['1.1', '1.2', '2.1'], ['auth'])])).toEqual([
      '1.1 has no test of payments, and no other answer',
      '2.1 has no test of payments, and no other answer',
    ])
    expect(listProblems(chapters.slice(0, 1), [test(['1.1'])])).toEqual([
      '1.2 has no test of auth, and no other answer',
    ])
  })

  it('names tests of one service for what does not apply to it, but no tests of shared code', () => {
    const tests = [test(['1.1', '1.2', '2.1']), test(['1.3', '2.1'], ['inventory'])]
    expect(listProblems(chapters, tests)).toEqual([
      '1.3 has tests of inventory though it does not apply',
      '2.1 has tests of inventory though it does not apply',
    ])
  })

  it('names a tag whose number no requirement has', () => {
    expect(listProblems([], [test(['9.9'])])).toEqual(['a.test.ts:3: there is no requirement 9.9 of level 1 or 2'])
  })
})

describe('listDocuments', () => {
  it('names each page with its heading, once', () => {
    expect(listDocuments([...chapters, ...chapters])).toEqual([{ file: 'README.md', anchor: 'fourth' }])
  })
})

describe('writePage', () => {
  const page = writePage(chapters, [test(['1.1', '1.2']), test(['2.1'], ['auth']), test(['1.3'], ['console'])])

  it('counts the requirements of each service', () => {
    expect(page).toContain('| auth | 2 | 1 | 1 | 0 | 1 | 0 |')
    expect(page).toContain('| inventory | 0 | 1 | 0 | 1 | 2 | 1 |')
  })

  it('names each chapter that does not apply once', () => {
    expect(page).toContain('- V2 Other, payments, inventory: it has none.\n- V3 None, all services: nobody has.\n')
  })

  it('has a line for each requirement, with the differences between services', () => {
    const link = '[200: \\[a\\] \\| b](../a.test.ts)'
    for (const line of [
      '|  |  | **V1 Some** |  |  |  |  |',
      `| 1.1 | 1 | a first thing | met | met | deviation | inventory: Deviation: no reason.<br>${link} |`,
      `| 1.2 | 2 | a second | met when strict | not applicable | not applicable | auth: Deviation: old clients.<br>Strict: closed.<br>payments, inventory: Because there is none.<br>${link} |`,
      '| 1.3 | 2 | a third | not applicable | not applicable | not applicable | Because there is none. |',
      '| 1.4 | 2 | a fourth | documented | documented | documented | by the operator: [README.md#fourth](../README.md#fourth) |',
      `| 2.1 | 1 | a fifth | met | met | – | auth: ${link} |`,
    ]) {
      expect(page).toContain(line)
    }
  })
})

describe('writePage of the console', () => {
  it('lists the requirements that tests of the console show, and no others', () => {
    const page = writePage(chapters, [test(['1.1']), test(['1.3'], ['console'])])
    const section = page
      .split('## Console')[1]
      ?.split('\n')
      .filter((line) => line.startsWith('|'))
    expect(section).toEqual([
      '| # | Level | Asks | Shown by |',
      '| --- | --- | --- | --- |',
      '| 1.3 | 2 | a third | [200: \\[a\\] \\| b](../a.test.ts) |',
    ])
  })
})

describe('listTaggedTests', () => {
  const users = new Map([['packages/a', ['auth', 'payments'] as const]])
  const read = (text: string, path = 'packages/a/a.test.ts') => listTaggedTests([{ path, text }], users)

  it('finds the test below a tag, and names a table with its group', () => {
    const text = [
      "describe('one', () => {",
      '  // ASVS 1.1, 1.2',
      "  it('two', () => {})",
      '  // ASVS 1.3',
      '  it.each([',
      '    [1],',
      "  ])('three %d', () => {})",
      '})',
    ]
    const place = { path: 'packages/a/a.test.ts', services: ['auth', 'payments'] }
    expect(read(text.join('\n'))).toEqual([
      { ...place, line: 3, title: 'two', requirements: ['1.1', '1.2'] },
      { ...place, line: 5, title: 'one: three %d', requirements: ['1.3'] },
    ])
  })

  it('refuses a tag that stands above no test', () => {
    expect(() => read('// ASVS 1.1\nconst x = 1')).toThrow(
      'packages/a/a.test.ts:1: a tag stands on the line above a test',
    )
  })

  it('refuses a tag beside code that no service runs', () => {
    expect(() => read("// ASVS 1.1\nit('x', () => {})", 'bench/a.test.ts')).toThrow(
      'bench/a.test.ts:1: no service runs the code beside this test',
    )
  })
})

it('has every requirement of levels 1 and 2 of ASVS 5.0.0 once, in order', () => {
  const chaptersOfStandard = readChapters(readFileSync(join(import.meta.dirname, 'requirements.yaml'), 'utf8'))
  const counts = chaptersOfStandard.map(({ title, requirements }) => [title.split(' ')[0], requirements.length])
  const expected = [27, 11, 19, 10, 9, 35, 18, 7, 7, 29, 14, 9, 13, 9, 13, 16, 0]
  expect(counts).toEqual(expected.map((count, index) => [`V${index + 1}`, count]))
  const ids = chaptersOfStandard.flatMap(({ requirements }) => requirements.map(({ id }) => id))
  expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true })))
})

it.each([
  ['a service that is none', '- { title: a, requirements: { 1.1: { level: 1, asks: b, console: met } } }'],
  ['an answer without a reason', '- { title: a, requirements: { 1.1: { level: 1, asks: b, auth: { strict: c } } } }'],
])('refuses %s', (_name, text) => {
  expect(() => readChapters(text)).toThrow()
})
