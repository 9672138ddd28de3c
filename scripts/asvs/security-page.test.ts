import { describe, expect, it } from 'vitest'
import { chapter } from './requirement.ts'
import { listDocuments, listProblems, writePage } from './security-page.ts'
import { listTaggedTests } from './test-tags.ts'

const some = chapter('V1 Some', [
  ['1.1', 1, 'a first thing'],
  ['1.2', 2, 'a second', { deviation: 'old clients', strict: 'closed' }],
  ['1.3', 2, 'a third', { notApplicable: 'there is none' }],
  ['1.4', 2, 'a fourth', { documented: 'README.md#fourth' }],
  ['1.5', 2, 'a fifth', { deviation: 'no reason' }],
])
const test = (requirements: readonly string[]) => ({ path: 'a.test.ts', line: 3, title: '200: [a] | b', requirements })

describe('listProblems', () => {
  it('names what nothing answers, what has no such number, and tests of what does not apply', () => {
    expect(listProblems([some], [test(['1.1', '1.2'])])).toEqual([])
    expect(listProblems([some], [test(['1.3', '9.9'])])).toEqual([
      '1.1 has no test, and is neither documented nor a deviation nor not applicable',
      '1.2 has no test, and is neither documented nor a deviation nor not applicable',
      '1.3 has tests though it does not apply',
      'a.test.ts:3: there is no requirement 9.9 of level 1 or 2',
    ])
  })
})

describe('listDocuments', () => {
  it('names each page with its heading, once', () => {
    expect(listDocuments([some, some])).toEqual([{ file: 'README.md', anchor: 'fourth' }])
  })
})

describe('writePage', () => {
  it('counts, and explains each requirement', () => {
    const page = writePage([some], [test(['1.1', '1.2'])])
    expect(page).toContain('| V1 Some | 1 | 1 | 1 | 1 | 1 |')
    const link = '[200: \\[a\\] \\| b](../a.test.ts)'
    expect(page).toContain(`| 1.1 | 1 | a first thing | met | ${link} |`)
    expect(page).toContain(
      `| 1.2 | 2 | a second | met when strict | Deviation: old clients.<br>Strict: closed.<br>${link} |`,
    )
    expect(page).toContain('| 1.3 | 2 | a third | not applicable | Because there is none. |')
    expect(page).toContain('| 1.4 | 2 | a fourth | documented | [README.md#fourth](../README.md#fourth) |')
    expect(page).toContain('| 1.5 | 2 | a fifth | deviation | Deviation: no reason. |')
  })
})

describe('listTaggedTests', () => {
  const read = (text: string) => listTaggedTests({ root: '/', files: [{ path: 'a.test.ts', text }] })

  it('finds the test below a tag, also one of a table', () => {
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
    expect(read(text.join('\n'))).toEqual([
      { path: 'a.test.ts', line: 3, title: 'two', requirements: ['1.1', '1.2'] },
      { path: 'a.test.ts', line: 5, title: 'three %d', requirements: ['1.3'] },
    ])
  })

  it('refuses a tag that stands above no test', () => {
    expect(() => read('// ASVS 1.1\nconst x = 1')).toThrow('a.test.ts:1: a tag stands on the line above a test')
  })
})
